import type { ChildProcess } from "node:child_process";

/**
 * Signals a child that was started with `detached`, and all it started: they are one group, which outlives its
 * leader while one of them runs. One that has ended already is no error.
 */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    if (process.platform === "win32") endTree(child, child.pid);
    else process.kill(-child.pid, signal);
  } catch {
    // It has ended already.
  }
}

/**
 * Ends what left its group (`setsid`, a daemon): on Linux it is still known by a variable of its environment. Where
 * that can't be read, or was cleared, it lives on.
 */
export async function endMarked(mark: string, after: number): Promise<void> {
  if (process.platform !== "linux") return;
  const { readdir, readFile } = process.getBuiltinModule("node:fs/promises");
  // Each look may miss what another one started meanwhile.
  for (let look = 0; look < MOST_LOOKS; look += 1) {
    const pids = (await readdir("/proc").catch(() => [])).map(Number).filter((pid) => pid > after);
    const marked = await Promise.all(
      pids.map((pid) =>
        readFile(`/proc/${pid}/environ`, "latin1").then(
          (text) => text.includes(mark),
          () => false,
        ),
      ),
    );
    const found = pids.filter((_, index) => marked[index] === true);
    if (found.length === 0) return;
    for (const pid of found) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended already.
      }
    }
  }
}

const MOST_LOOKS = 5;

/** Windows has neither groups nor signals for them: the whole tree is ended at once. */
function endTree(child: ChildProcess, pid: number): void {
  const { spawn } = process.getBuiltinModule("node:child_process");
  spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true })
    .once("error", () => child.kill())
    .unref();
}
