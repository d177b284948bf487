import { CREDENTIALS } from "../tools/memory/secrets.ts";

/**
 * Removes what looks like a secret before anything is logged. Names first (a field called token holds one), then
 * well-known shapes inside text. Erring towards too much is right: the log is for people, not for replay.
 */
const SECRET_NAME =
  /pass(word|phrase|wd)?$|secret|token|api[-_]?key|authorization|credential|private[-_]?key|cookie|^pin$/i;

const SECRET_SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}/g,
  /\bcamel_[A-Za-z0-9_-]{20,}/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/g,
  /\bxox[abpr]-[A-Za-z0-9-]{10,}/g,
  /\bAKIA[0-9A-Z]{16}\b/g,
  /\bAIza[0-9A-Za-z_-]{30,}/g,
  /(?<![\w-])eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{12,}/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // What a note may not hold: that it was refused must not be what writes it down.
  ...CREDENTIALS.map(([, shape]) => new RegExp(shape, `${shape.flags}g`)),
];

const REDACTED = "[redacted]";
export const LONGEST_SECRET = 512;

export function redactText(text: string): string {
  return SECRET_SHAPES.reduce((clean, shape) => clean.replace(shape, REDACTED), text);
}

/** A bounded, redacted copy: strings over `maxString` are cut, and nothing is deeper than eight levels. */
export function redact(value: unknown, maxString = 2_000, depth = 0): unknown {
  if (typeof value === "string") {
    if (value.length <= maxString) return redactText(value);
    // Cut first, so that patterns see bounded text; with room, so that they know a secret across the cut.
    const clean = redactText(value.slice(0, maxString + LONGEST_SECRET));
    return `${clean.slice(0, maxString)}… (${value.length} characters)`;
  }
  if (typeof value !== "object" || value === null) return value;
  if (depth >= 8) return "[deep]";
  if (Array.isArray(value)) return value.slice(0, 50).map((item) => redact(item, maxString, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, 50)
      .map(([key, item]) => [key, SECRET_NAME.test(key) ? REDACTED : redact(item, maxString, depth + 1)]),
  );
}
