import { randomBytes } from "node:crypto";

/** Short, unguessable, safe in a file name and easy for a model to repeat. */
export function newId(prefix: string, bytes = 8): string {
  return `${prefix}_${randomBytes(bytes).toString("hex")}`;
}

const AGENT_ID = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/;

/** Agent ids become folder names, so nothing that could climb or hide is one. */
export function isAgentId(value: string): boolean {
  return AGENT_ID.test(value);
}
