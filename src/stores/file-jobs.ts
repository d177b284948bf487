import { readFileSync } from "node:fs";
import { mkdir, readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { CamelError, codeOf } from "../shared/errors.ts";
import { withLock } from "../shared/lock.ts";
import { publishExclusive, syncFolder } from "./exclusive.ts";
import type { Job, JobStore } from "./jobs.ts";

/** Job ids become file names. */
const JOB_ID = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const READ_AT_ONCE = 64;
const LOCK_MS = 5_000;

export function isJobId(value: string): boolean {
  return JOB_ID.test(value);
}

/** One file a job, so that two processes that add jobs at the same time never touch the same file. */
export function createFileJobs(options: { directory: string; clock: Clock }): JobStore {
  const { directory, clock } = options;
  const pathOf = (id: string): string => {
    if (!isJobId(id)) {
      throw new CamelError("invalid_input", `"${id.slice(0, 80)}" is not a job id.`, {
        next: "Ids are lower-case letters, digits, dash and underscore, at most 64.",
      });
    }
    return join(directory, `${id}.json`);
  };

  const get = async (id: string): Promise<Job | undefined> => {
    let text = "";
    try {
      // At once: a detour through the thread pool takes ten times as long, and there may be a hundred thousand.
      text = readFileSync(pathOf(id), "utf8");
    } catch (error) {
      if (isMissing(error)) return undefined;
      // A folder of that name: as little a job as a file that is cut off.
      if (codeOf(error) !== "EISDIR") throw error;
    }
    const job = parseJob(text, id);
    if (job !== undefined) return job;
    throw new CamelError("damaged", `The file of the job "${id}" can't be read: ${pathOf(id)}.`, {
      next: "It does not fire. Repair the file, or delete it and add the job again.",
    });
  };

  const names = async (): Promise<string[]> => {
    try {
      return await readdir(directory);
    } catch (error) {
      // Only a folder that isn't there holds no jobs; one that can't be read must not look empty.
      if (isMissing(error)) return [];
      throw error;
    }
  };

  const ids = async (): Promise<string[]> =>
    (await names())
      .filter((name) => name.endsWith(".json"))
      .map((name) => name.slice(0, -5))
      .filter(isJobId);

  return {
    get,
    ids,
    async list(onDamaged = () => {}) {
      const all = await ids();
      const jobs: Job[] = [];
      for (let start = 0; start < all.length; start += READ_AT_ONCE) {
        const batch = all.slice(start, start + READ_AT_ONCE);
        // One unreadable file must not hide all the other jobs.
        const read = await Promise.all(
          batch.map((id) =>
            get(id).catch((error: unknown) => {
              onDamaged(id, error);
            }),
          ),
        );
        for (const job of read) if (job !== undefined) jobs.push(job);
      }
      return jobs;
    },
    async add(job) {
      const path = pathOf(job.id);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      return publishExclusive(path, `${JSON.stringify(job, null, 2)}\n`);
    },
    async update(id, change, uid) {
      const path = pathOf(id);
      return withLock(
        join(directory, `.${id}.lock`),
        { clock, purpose: "changing the job", timeoutMs: LOCK_MS },
        async () => {
          const job = await get(id);
          if (job === undefined || (uid !== undefined && job.uid !== uid)) return undefined;
          const changed = change(job);
          await replaceFile(path, `${JSON.stringify(changed, null, 2)}\n`);
          return changed;
        },
      );
    },
    async remove(id, uid) {
      const path = pathOf(id);
      return withLock(
        join(directory, `.${id}.lock`),
        { clock, purpose: "changing the job", timeoutMs: LOCK_MS },
        async () => {
          if (uid !== undefined && (await get(id))?.uid !== uid) return false;
          try {
            await unlink(path);
          } catch (error) {
            if (codeOf(error) === "ENOENT") return false;
            throw error;
          }
          await syncFolder(directory);
          return true;
        },
      );
    },
    async mark() {
      const found = await stat(directory, { bigint: true }).catch(() => undefined);
      return found === undefined ? "-" : `${found.ino}:${found.mtimeNs}`;
    },
  };
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR";
}

/** What every use of a job relies on; a file may have been edited by hand. */
const NEEDED = {
  uid: "string",
  name: "string",
  schedule: "string",
  tz: "string",
  prompt: "string",
  missedWithinSeconds: "number",
  jitterSeconds: "number",
  enabled: "boolean",
  since: "number",
} as const satisfies Partial<Record<keyof Job, string>>;

function parseJob(text: string, id: string): Job | undefined {
  try {
    const job = JSON.parse(text) as Partial<Job> | null;
    const isWhole =
      job?.id === id &&
      typeof job.creator?.agentId === "string" &&
      (Object.keys(NEEDED) as (keyof typeof NEEDED)[]).every((key) => typeof job[key] === NEEDED[key]);
    return isWhole ? (job as Job) : undefined;
  } catch {
    return undefined;
  }
}
