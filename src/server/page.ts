const PAGE = 100;

/** A page of a list. A cursor is the index to go on at; undefined for anything else that a client sends as one. */
export function page<T, U, K extends string>(
  items: readonly T[],
  cursor: string | undefined,
  map: (item: T) => U,
  key: K,
): (Record<K, U[]> & { nextCursor?: string }) | undefined {
  const start = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isInteger(start) || start < 0 || start > items.length) return undefined;
  const end = start + PAGE;
  const result = { [key]: items.slice(start, end).map(map) } as Record<K, U[]>;
  return end < items.length ? { ...result, nextCursor: String(end) } : result;
}
