import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 200;
// A holder writes its id right after it has made the folder; younger than this it may simply not be there yet.
const GRACE_MS = 2_000;

/**
 * Runs `work` while no other process of this checkout runs its own. `npm test` and `npm start` may begin at the
 * same moment in a fresh clone, and two `npm ci` in one folder delete each other's files.
 */
export async function withLock(folder, name, work) {
  const lock = join(folder, `.${name}.lock`);
  let said = false;
  while (!take(lock)) {
    if (abandoned(lock)) {
      rmSync(lock, { recursive: true, force: true });
      continue;
    }
    if (!said)
      process.stderr.write("camel-mcp: another process is preparing this checkout, waiting for it\n");
    said = true;
    await sleep(POLL_MS);
  }
  const release = () => rmSync(lock, { recursive: true, force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    release();
    process.removeListener("exit", release);
  }
}

function take(lock) {
  try {
    mkdirSync(lock);
  } catch (error) {
    if (error.code === "EEXIST") return false;
    throw error;
  }
  writeFileSync(join(lock, "pid"), String(process.pid));
  return true;
}

function abandoned(lock) {
  try {
    const pid = Number(readFileSync(join(lock, "pid"), "utf8"));
    if (pid > 0) return !alive(pid);
    return Date.now() - statSync(lock).mtimeMs > GRACE_MS;
  } catch {
    try {
      return Date.now() - statSync(lock).mtimeMs > GRACE_MS;
    } catch {
      return false;
    }
  }
}

function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}
