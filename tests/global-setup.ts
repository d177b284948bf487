import { execFileSync } from "node:child_process";

/** Tests of the real process run the bundled CLI, so it must be what the sources say. */
export default function setup(): void {
  execFileSync(process.execPath, ["scripts/ensure.mjs", "build"], { stdio: "inherit" });
}
