import { mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { CamelError } from "./errors.ts";

const PAUSE_MS = 5;
const PATIENCE_MS = 15_000;

/** Runs `work` while no other process holds `path`. A lock whose process is gone is taken over. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const owner = `${process.pid} ${randomBytes(8).toString("hex")}`;
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await acquire(path, owner))) {
    await removeIfAbandoned(path);
    if (performance.now() > deadline) {
      throw new CamelError("busy", "Another process has been writing to this memory for 15 seconds.", {
        next: "Retry the call.",
      });
    }
    await pause(PAUSE_MS + Math.random() * PAUSE_MS);
  }
  try {
    return await work();
  } finally {
    if ((await readFile(path, "utf8").catch(() => "")) === owner) await unlink(path).catch(() => {});
  }
}

async function acquire(path: string, owner: string): Promise<boolean> {
  try {
    const handle = await open(path, "wx", 0o600);
    await handle.writeFile(owner).finally(() => handle.close());
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}

async function removeIfAbandoned(path: string): Promise<void> {
  const content = await readFile(path, "utf8").catch(() => "");
  const pid = Number(content.split(" ")[0]);
  // An empty lock is one being written.
  if (!Number.isInteger(pid) || pid <= 0 || isAlive(pid)) return;
  // Two takers may see the same dead owner: a rename moves it away once, and what it moved is checked.
  const aside = `${path}.${randomBytes(6).toString("hex")}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const moved = await readFile(aside, "utf8").catch(() => "");
  if (moved !== content) await rename(aside, path).catch(() => {});
  else await unlink(aside).catch(() => {});
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
