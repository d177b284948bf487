/** Starting npm and other programs from a script, and saying what they said when they fail. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";

/** Runs to the end and returns stdout; throws with everything it printed if it fails. */
export function run(command, args, options = {}) {
  const result = spawnSync(command, args, { encoding: "utf8", maxBuffer: 2 ** 26, ...options });
  if (result.error !== undefined) throw result.error;
  if (result.status !== 0) {
    throw new Error(
      `${[command, ...args].join(" ")} ended with ${result.status ?? result.signal}:\n${result.stdout}${result.stderr}`,
    );
  }
  return result.stdout;
}

/** The npm that runs this script, or the one on PATH; without a shell either way where that is possible. */
export function npmCommand(args) {
  const cli = process.env["npm_execpath"];
  if (cli !== undefined && cli.endsWith(".js")) return [process.execPath, [cli, ...args], {}];
  return ["npm", args, { shell: process.platform === "win32" }];
}

export function npm(args, options = {}) {
  const [command, all, extra] = npmCommand(args);
  return run(command, all, { ...extra, ...options });
}

/** Packs a folder the way `npm publish` would and returns npm's own account of it. */
export function pack(folder, destination) {
  // Scripts run on stdout too, so the JSON is what follows the last line that begins with a bracket.
  const out = npm(["pack", "--json", "--silent", "--pack-destination", destination], { cwd: folder });
  const answer = JSON.parse(out.slice(out.search(/^[[{]/m)));
  return Array.isArray(answer) ? answer[0] : Object.values(answer)[0];
}

/** The environment of a user with an empty home: nothing of the npm that runs this script, nor of its settings. */
export function newUser(home) {
  const others = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name));
  return {
    ...Object.fromEntries(others),
    HOME: home,
    USERPROFILE: home,
    npm_config_cache: join(home, "npm-cache"),
    npm_config_userconfig: join(home, ".npmrc"),
  };
}

/** Packages npm put into a folder, as `name@version`. */
export function installedIn(lock) {
  return Object.entries(lock.packages)
    .filter(([path]) => path.includes("node_modules/"))
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf("node_modules/") + 13)}@${version}`);
}
