// Random bytes are drawn by the kilobyte: for eight of them alone the system call costs more than the rest of an id.
const pool = Buffer.alloc(1024);
let used = pool.length;

/** Short, unguessable, safe in a file name and easy for a model to repeat. */
export function newId(prefix: string, bytes = 8): string {
  if (used + bytes > pool.length) {
    // Loaded here: node:crypto takes a twentieth of the whole start, which needs no id.
    process.getBuiltinModule("node:crypto").randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return `${prefix}_${pool.toString("hex", used - bytes, used)}`;
}

const AGENT_ID = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

/** Agent ids become folder names, so nothing that could climb or hide is one. */
export function isAgentId(value: string): boolean {
  return AGENT_ID.test(value);
}
