/** As text that is the same for equal values, in whatever order their keys came: to compare or hash them. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, sortedKeys);
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function sha256Hex(text: string): string {
  // Loaded here: node:crypto takes a twentieth of the whole start, which hashes nothing.
  return process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("hex");
}
