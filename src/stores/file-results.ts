import { readFile, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../shared/clock.ts";
import { replaceFile } from "../shared/durable.ts";
import { newId } from "../shared/ids.ts";
import type { ResultStore } from "./results.ts";

const ID = /^res_[0-9a-f]{16}$/;

/** One file a result, in a folder an owner, bounded by age and count. */
export function createFileResults(options: {
  directory: string;
  clock: Clock;
  maxAgeHours: () => number;
  maxCount: () => number;
}): ResultStore {
  // Loaded here: most sessions never archive a result, and every start would pay for node:crypto.
  const folder = (owner: string): string => {
    const { createHash } = process.getBuiltinModule("node:crypto");
    return join(options.directory, createHash("sha256").update(owner).digest("hex").slice(0, 24));
  };

  const prune = async (owner: string): Promise<void> => {
    const directory = folder(owner);
    const names = (await readdir(directory).catch(() => [])).filter((name) => ID.test(name));
    const aged = await Promise.all(
      names.map(async (name) => ({
        name,
        time: await stat(join(directory, name)).then(
          (found) => found.mtimeMs,
          () => 0,
        ),
      })),
    );
    aged.sort((a, b) => b.time - a.time);
    const oldest = options.clock.now() - options.maxAgeHours() * 3_600_000;
    const stale = aged.filter(({ time }, index) => index >= options.maxCount() || time < oldest);
    await Promise.all(stale.map(({ name }) => rm(join(directory, name), { force: true })));
  };

  return {
    async put(owner, text) {
      const id = newId("res");
      await replaceFile(join(folder(owner), id), text);
      await prune(owner);
      return id;
    },
    async get(owner, id) {
      // The id becomes a file name, so only our own shape is looked up.
      if (!ID.test(id)) return undefined;
      const path = join(folder(owner), id);
      const found = await stat(path).catch(() => undefined);
      if (found === undefined || found.mtimeMs < options.clock.now() - options.maxAgeHours() * 3_600_000)
        return undefined;
      return readFile(path, "utf8").catch(() => undefined);
    },
  };
}
