/** The first JSON object in a model's answer. */
export function jsonIn(text: string): Record<string, unknown> | undefined {
  const start = text.indexOf("{");
  for (let end = text.lastIndexOf("}"); start >= 0 && end > start; end = text.lastIndexOf("}", end - 1)) {
    try {
      const value: unknown = JSON.parse(text.slice(start, end + 1));
      if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
    } catch {
      // A shorter piece may be the object.
    }
  }
  return undefined;
}
