/** Keeps whole results that were too long to send, so that `get_tool_response` can page through them. */
export interface ResultStore {
  /** Returns the id under which the text can be had again. */
  put(owner: string, text: string): Promise<string>;
  /** Undefined when it never was, has expired, or belongs to somebody else. */
  get(owner: string, id: string): Promise<string | undefined>;
}
