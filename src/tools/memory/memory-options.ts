/** What the config says about memory; a function gives it, so that a changed config counts at the next call. */
export interface MemoryOptions {
  /** `keyword` is the seed's own count, for those who compare. */
  ranking?: "passages" | "keyword";
  /** Other roots the caller may read, by the name they're shown under. */
  shared?: readonly { name: string; root: string }[];
}
