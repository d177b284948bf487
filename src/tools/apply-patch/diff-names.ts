/** How diffs write file names: quoted, prefixed, with time stamps. */
interface DiffNames {
  git: boolean;
  oldName?: string;
  newName?: string;
}

const TIME_STAMP = /\s\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b.{0,40}$/;

/** A time stamp is not part of the name. It follows a tab, which models write as blanks. */
export function nameOf(raw: string): string {
  if (raw.startsWith('"')) return unquote(raw);
  const tab = raw.indexOf("\t");
  // A bounded tail keeps a hostile line cheap.
  const stamp = TIME_STAMP.exec(raw.slice(-80))?.[0].length ?? 0;
  return (tab === -1 ? raw.slice(0, raw.length - stamp) : raw.slice(0, tab)).trimEnd();
}

const ESCAPES: Record<string, number> = { n: 10, t: 9, r: 13, a: 7, b: 8, f: 12, v: 11, '"': 34, "\\": 92 };

/** Git quotes odd names in C style, bytes in octal. */
export function unquote(raw: string): string {
  const text = raw.trimEnd();
  if (!text.startsWith('"') || !text.endsWith('"') || text.length < 2) return text;
  const bytes: Buffer[] = [];
  const inner = text.slice(1, -1);
  for (let i = 0; i < inner.length; i++) {
    const char = inner[i] ?? "";
    if (char !== "\\") {
      bytes.push(Buffer.from(char));
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(inner.slice(i + 1, i + 4))?.[0];
    if (octal !== undefined) {
      bytes.push(Buffer.from([Number.parseInt(octal, 8)]));
      i += 3;
    } else {
      i++;
      bytes.push(Buffer.from([ESCAPES[inner[i] ?? ""] ?? 92]));
    }
  }
  return Buffer.concat(bytes).toString("utf8");
}

export function gitNames(rest: string): [string, string] | undefined {
  const quoted = /^("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")$/.exec(rest);
  if (quoted?.[1] !== undefined && quoted[2] !== undefined) return [unquote(quoted[1]), unquote(quoted[2])];
  // Both halves name the same file unless it is a rename, which has its own headers.
  const middle = (rest.length - 1) / 2;
  if (Number.isInteger(middle) && rest[middle] === " " && rest.slice(2, middle) === rest.slice(middle + 3)) {
    return [rest.slice(0, middle), rest.slice(middle + 1)];
  }
  return undefined;
}

/**
 * Drops `a/` and `b/` only where both sides carry them, so that a real folder called `a` survives plain diffs; or
 * where one side does and the rest is what the other side says.
 */
export function prefixStripper(file: DiffNames): (name: string | undefined) => string | undefined {
  const isNull = (name: string | undefined): boolean => name === undefined || name === "/dev/null";
  const hasPrefix = (name: string | undefined, prefix: RegExp): boolean =>
    isNull(name) || prefix.test(name ?? "");
  const prefixed =
    hasPrefix(file.oldName, /^[aiwco]\//) &&
    hasPrefix(file.newName, /^[biwco]\//) &&
    (file.git || !isNull(file.oldName) || !isNull(file.newName));
  const { oldName = "", newName = "" } = file;
  if (newName.startsWith("b/") && newName.slice(2) === oldName) return () => oldName;
  if (oldName.startsWith("a/") && oldName.slice(2) === newName) return () => newName;
  return (name) => {
    if (name === undefined || name === "/dev/null") return undefined;
    return prefixed ? name.slice(2) : name;
  };
}
