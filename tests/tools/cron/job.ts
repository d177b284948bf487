import type { Job } from "../../../src/stores/jobs.ts";

/** A job that puts its prompt into the inbox each time, from a given moment on. */
export function jobAt(since: number, over: Partial<Job> = {}): Job {
  return {
    id: "tick",
    uid: "abc123",
    name: "tick",
    schedule: "1m",
    tz: "Europe/Berlin",
    prompt: "Do it.",
    overlap: "allow",
    missed: "once",
    missedWithinSeconds: 86_400,
    onInterrupted: "report",
    jitterSeconds: 0,
    enabled: true,
    since,
    createdAt: since,
    updatedAt: since,
    creator: { agentId: "main", client: "test", depth: 0 },
    source: "runtime",
    ...over,
  };
}
