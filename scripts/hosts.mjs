/**
 * `npm run hosts -- --hosts DIR [--only claude,codex] [--via stdio,http,project] [--script FILE]`: real hosts, offline,
 * with a scripted model. Each host gets a home of its own with the settings it needs to reach the model, this build is
 * registered in it with `camel-mcp install`, and the host calls one tool, or those of a script in scripts/hosts/. Then
 * it is looked up what the model was offered and what it got back. DIR holds the harness: env.sh, e2e.sh (network
 * namespace and model) and check.mjs. Linux, root. The hosts are large, so this isn't part of the tests.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { offeredTools } from "./hosts/offered.mjs";
import { HOSTS } from "./hosts/table.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cli = join(root, "dist", "cli.js");
const { values } = parseArgs({
  options: {
    hosts: { type: "string" },
    only: { type: "string" },
    via: { type: "string" },
    script: { type: "string" },
  },
});
if (values.hosts === undefined) {
  process.stderr.write("Which harness? npm run hosts -- --hosts DIR\n");
  process.exit(2);
}
const harness = resolve(values.hosts);
const base = execFileSync("bash", ["-c", `. '${harness}/env.sh' && printf %s "$H"`], { encoding: "utf8" });
const PORT = 7802;
const MODEL = "http://127.0.0.1:7900";
const FACT = "Releases go out on Tuesdays";
const play =
  values.script === undefined
    ? { steps: [{ tool: "memory_get", args: { filePath: "MEMORY.md" }, expect: FACT }, { text: "done" }] }
    : JSON.parse(readFileSync(values.script, "utf8"));
const suffix = values.script === undefined ? "" : `-${basename(values.script, ".json")}`;

const only = values.only?.split(",") ?? Object.keys(HOSTS);
const ways = values.via?.split(",") ?? ["stdio", "http", "project"];
const rows = [];
for (const id of only) {
  for (const via of ways) {
    const host = HOSTS[id];
    if (via === "project" && host.project !== true) continue;
    if (play.except?.[id] !== undefined) {
      process.stdout.write(`${id.padEnd(10)} ${via.padEnd(8)} left out: ${play.except[id]}\n`);
      continue;
    }
    const result = run(id, host, via);
    rows.push({ host: id, via, ...result });
    process.stdout.write(
      `${id.padEnd(10)} ${via.padEnd(8)} ${result.ok ? "PASS" : "FAIL"}  ${result.says}\n`,
    );
  }
}
const failed = rows.filter((row) => !row.ok).length;
process.stdout.write(`\n${rows.length - failed} of ${rows.length} passed\n`);
process.exit(failed === 0 ? 0 : 1);

function run(id, host, via) {
  const tag = `camel-${id}-${via}${suffix}`;
  const home = join(base, "homes", tag);
  const project = join(base, "proj", tag);
  const state = join(home, "camel-state");
  for (const folder of [home, project]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  execFileSync("git", ["init", "-q", "."], { cwd: project });
  writeFileSync(join(project, "MEMORY.md"), `# Memory\n\n- ${FACT}.\n`);
  for (const [path, lines] of Object.entries(play.longFiles ?? {})) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), "A line of a long note, to be cut.\n".repeat(lines));
  }
  if (play.config !== undefined) {
    mkdirSync(state, { recursive: true });
    writeFileSync(join(state, "config.yaml"), JSON.stringify(play.config), { mode: 0o600 });
  }
  const place = { home, project, model: MODEL, bin: (name, program) => binary(name, program) };
  for (const [path, content] of Object.entries(host.files(place))) {
    mkdirSync(dirname(join(path)), { recursive: true });
    writeFileSync(path, content);
  }
  const env = {
    PATH: process.env.PATH,
    HOSTS_HOME: base,
    HOME: home,
    TERM: "dumb",
    ...host.env(place),
    T: process.env.T ?? "90",
    FAKE_RAW: "1",
  };
  const camel = (...args) =>
    spawnSync(process.execPath, [cli, ...args], { cwd: project, env, encoding: "utf8" });

  const server = ["--home", state, "--workspace", project];
  if (via === "http") {
    const made = JSON.parse(camel("token", "create", "--home", state, "--json").stdout);
    env.CAMEL_TOKEN = made.token;
    env.SERVE = [process.execPath, cli, "serve", "--port", String(PORT), ...server].join(" ");
  }
  const what =
    via === "http" ? ["--url", `http://127.0.0.1:${PORT}/mcp`, "--token-env", "CAMEL_TOKEN"] : server;
  const scope = via === "project" ? ["--scope", "project"] : [];
  const words = [host.install, "--command", `${process.execPath} ${cli}`, ...what, ...scope];
  if (host.print !== undefined)
    writeFileSync(host.print(place), camel("install", ...words, "--print").stdout);
  else {
    const installed = camel("install", ...words);
    if (installed.status !== 0) return { ok: false, says: installed.stderr.trim() };
    const again = JSON.parse(camel("install", ...words, "--json").stdout);
    if (again.action !== "unchanged") return { ok: false, says: "a second install changed the file" };
  }

  const listed = camel("tools", "list", "--json", "--with-schema", ...server).stdout;
  const script = JSON.stringify(
    play.steps.filter((step) => step.needsRefresh !== true || host.refreshes !== false),
  );
  const ran = spawnSync(join(harness, "e2e.sh"), [tag, script, "--", ...host.argv(place)], {
    cwd: project,
    env,
    encoding: "utf8",
    timeout: 180_000,
  });
  writeFileSync(join(base, "logs", `${tag}.out.txt`), `${ran.stdout}\n${ran.stderr}`);
  if (id === "cline") endLeftOvers(home);
  const log = join(base, "logs", `${tag}.model.jsonl`);
  const check = spawnSync(process.execPath, [join(harness, "check.mjs"), log, script], { encoding: "utf8" });
  const offered = offeredTools(log, JSON.parse(listed));
  return {
    ok: check.status === 0 && offered.ok,
    says: `${check.stdout.trim().replace(/^(?:PASS|FAIL) /, "")}; ${offered.says}`,
  };
}

function binary(name, program) {
  return join(base, "inst", name, "node_modules", ".bin", program);
}

/** Cline leaves a daemon behind; only the one with this run's home is ended. */
function endLeftOvers(home) {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const isCline = readlinkSync(`/proc/${pid}/exe`).includes("/@cline/");
      const isOurs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(`HOME=${home}`);
      if (isCline && isOurs) process.kill(Number(pid));
    } catch {
      // It ended meanwhile, or isn't ours to look at.
    }
  }
}
