/** `data.items[0].name` in a JSON value; undefined where the path leads nowhere. Own properties only. */
export function getPath(value: unknown, path: string): unknown {
  let current = value;
  for (const part of pathParts(path)) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string, unknown>)[part];
  }
  return current;
}

function pathParts(path: string): string[] {
  return path
    .replace(/^\$\.?/, "")
    .replaceAll(/\[["']?([^\]"']*)["']?\]/g, ".$1")
    .split(".")
    .filter((part) => part !== "");
}
