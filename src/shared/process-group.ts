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

/** Windows has neither groups nor signals for them: the whole tree is ended at once. */
function endTree(child: ChildProcess, pid: number): void {
  const { spawn } = process.getBuiltinModule("node:child_process");
  spawn("taskkill", ["/pid", String(pid), "/t", "/f"], { stdio: "ignore", windowsHide: true })
    .once("error", () => child.kill())
    .unref();
}
