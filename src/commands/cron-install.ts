import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { CommandContext } from "../cli.ts";
import { replaceFile } from "../shared/durable.ts";
import { CamelError, codeOf, messageOf } from "../shared/errors.ts";
import { usageError } from "./options.ts";

const run = promisify(execFile);

/** What the operating system is told: files to write, then commands to run. */
export interface Installation {
  kind: "systemd" | "launchd" | "schtasks" | "crontab";
  files: { path: string; text: string }[];
  commands: string[][];
  /** What stops it; then the files are removed. */
  stop: string[][];
  /** What the user may want to do besides. */
  note?: string;
}

export interface InstallFacts {
  kind: Installation["kind"];
  /** The home of the user, where the system looks for its own files. */
  userHome: string;
  /** Node, the CLI and `cron tick` with the flags that matter. */
  argv: readonly string[];
  /** Where runs find their programs: the system's own PATH seldom has what the user installed. */
  path: string;
  /** What the user's crontab holds now. */
  crontab: string;
}

const MARK = "# camel-mcp cron tick";
const LABEL = "io.github.camel-mcp.tick";

/** `cron install [systemd|launchd|schtasks|crontab] [--print]`: jobs fire every minute also when no host is open. */
export async function install(context: CommandContext): Promise<number> {
  const { flags, print } = context;
  const kind = kindOf(context);
  const entry = process.argv[1];
  if (entry === undefined) throw usageError("The path of this program is not known.");
  const dry = flags.print === true || flags["dry-run"] === true;
  // The system calls it from another folder, and with none of these variables.
  const home = flags.home ?? process.env["CAMELAGI_HOME"];
  const config = flags.config ?? process.env["CAMEL_CONFIG"];
  const plan = planInstallation({
    kind,
    userHome: homedir(),
    argv: [
      process.execPath,
      resolve(entry),
      "cron",
      "tick",
      ...(home === undefined ? [] : ["--home", resolve(home)]),
      ...(config === undefined ? [] : ["--config", resolve(config)]),
    ],
    path: process.env["PATH"] ?? "",
    crontab: kind === "crontab" ? await currentCrontab(dry) : "",
  });
  if (entry.includes("_npx"))
    print(
      "Note: this runs from npx's cache, which may be emptied. Install camel-mcp for good first: npm install -g camel-mcp\n",
    );
  print(describe(plan, dry));
  if (dry) return 0;
  for (const { path, text } of plan.files) await replaceFile(path, text, { mode: 0o644 });
  for (const command of plan.commands) await execute(command, "camel-mcp cron install crontab");
  return 0;
}

/** `cron uninstall [systemd|launchd|schtasks|crontab] [--print]`: takes back what install did. */
export async function uninstall(context: CommandContext): Promise<number> {
  const { flags, print } = context;
  const kind = kindOf(context);
  const dry = flags.print === true || flags["dry-run"] === true;
  const crontab = kind === "crontab" ? await currentCrontab(dry) : "";
  const { files, stop } = planInstallation({ kind, userHome: homedir(), argv: [], path: "", crontab });
  const there = files.filter(({ path }) => existsSync(path));
  const isInstalled = kind === "schtasks" || (kind === "crontab" ? crontab.includes(MARK) : there.length > 0);
  if (!isInstalled) {
    print(`Not installed with ${kind}; nothing to take back.\n`);
    return 0;
  }
  for (const command of stop) {
    print(`${dry ? "would run" : "runs"} ${shown(command)}\n`);
    if (dry) continue;
    if (kind === "crontab") await replaceFile(command[1] ?? "", withoutTick(crontab), { mode: 0o644 });
    await execute(command, "camel-mcp cron uninstall --print");
  }
  for (const { path } of there) {
    print(`${dry ? "would remove" : "removes"} ${path}\n`);
    if (!dry) await rm(path, { force: true });
  }
  return 0;
}

async function execute([program = "", ...args]: readonly string[], instead: string): Promise<void> {
  try {
    await run(program, args);
  } catch (error) {
    const reason = messageOf(error);
    throw new CamelError("io_error", `${program} ${args.join(" ")}: ${reason}`, {
      cause: error,
      next: `Run it by hand, or see ${instead}.`,
    });
  }
}

function kindOf({ words }: CommandContext): Installation["kind"] {
  const kind = words[1] ?? defaultKind();
  if (!isKind(kind)) throw usageError(`"${kind}" is not one of systemd, launchd, schtasks, crontab.`);
  return kind;
}

function isKind(value: string): value is Installation["kind"] {
  return ["systemd", "launchd", "schtasks", "crontab"].includes(value);
}

function defaultKind(): Installation["kind"] {
  if (process.platform === "darwin") return "launchd";
  return process.platform === "win32" ? "schtasks" : "systemd";
}

/** What can't be read must not be taken for empty: it would be written over. */
async function currentCrontab(dry: boolean): Promise<string> {
  try {
    return (await run("crontab", ["-l"], { env: { ...process.env, LC_ALL: "C" } })).stdout;
  } catch (error) {
    const said = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    if (/\bno crontab\b/i.test(said)) return "";
    if (dry && codeOf(error) === "ENOENT") return "";
    throw new CamelError("io_error", `Your crontab can't be read: ${said.trim() || String(error)}`, {
      cause: error,
      next: "Nothing was changed. See that `crontab -l` works, or use `camel-mcp cron install systemd`.",
    });
  }
}

/** Pure, so that what would be installed can be printed and tested. */
export function planInstallation({
  kind,
  userHome,
  argv,
  path: searched,
  crontab,
}: InstallFacts): Installation {
  switch (kind) {
    case "systemd": {
      const folder = join(userHome, ".config", "systemd", "user");
      return {
        kind,
        files: [
          {
            path: join(folder, "camel-mcp.service"),
            // KillMode: runs outlive the tick that started them.
            text: `[Unit]\nDescription=camel-mcp: fire scheduled jobs that are due\n\n[Service]\nType=oneshot\nKillMode=process\n${searched === "" ? "" : `Environment="PATH=${searched.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll("%", "%%")}"\n`}ExecStart=${argv.map(systemdWord).join(" ")}\n`,
          },
          {
            path: join(folder, "camel-mcp.timer"),
            text: "[Unit]\nDescription=camel-mcp: every minute\n\n[Timer]\nOnCalendar=*-*-* *:*:00\nAccuracySec=1s\nPersistent=true\n\n[Install]\nWantedBy=timers.target\n",
          },
        ],
        commands: [
          ["systemctl", "--user", "daemon-reload"],
          ["systemctl", "--user", "enable", "--now", "camel-mcp.timer"],
        ],
        stop: [["systemctl", "--user", "disable", "--now", "camel-mcp.timer"]],
        note: "To fire while you are logged out, too: loginctl enable-linger",
      };
    }
    case "launchd": {
      const path = join(userHome, "Library", "LaunchAgents", `${LABEL}.plist`);
      return {
        kind,
        files: [{ path, text: plist(argv, searched) }],
        commands: [["launchctl", "load", "-w", path]],
        stop: [["launchctl", "unload", "-w", path]],
      };
    }
    case "schtasks":
      return {
        kind,
        files: [],
        commands: [
          [
            "schtasks",
            "/Create",
            "/F",
            "/TN",
            "camel-mcp tick",
            "/SC",
            "MINUTE",
            "/MO",
            "1",
            "/TR",
            argv.map(windowsWord).join(" "),
          ],
        ],
        stop: [["schtasks", "/Delete", "/F", "/TN", "camel-mcp tick"]],
      };
    case "crontab": {
      const command = `${argv.map(crontabWord).join(" ")} >/dev/null 2>&1 ${MARK}`;
      const withPath = searched === "" ? command : `PATH=${crontabWord(searched)} ${command}`;
      // Debian's cron refuses a longer command.
      const line = `* * * * * ${withPath.length < 990 ? withPath : command}\n`;
      const text = withoutTick(crontab) + line;
      const path = join(userHome, ".camelagi", "crontab.txt");
      return {
        kind,
        files: [{ path, text }],
        commands: [["crontab", path]],
        stop: [["crontab", path]],
      };
    }
  }
}

function withoutTick(crontab: string): string {
  const others = crontab
    .split("\n")
    .filter((line) => !line.endsWith(MARK))
    .join("\n");
  return others === "" || others.endsWith("\n") ? others : `${others}\n`;
}

function describe(plan: Installation, dry: boolean): string {
  const lines = plan.files.flatMap(({ path, text }) => [
    `${dry ? "would write" : "writes"} ${path}`,
    ...(dry ? [text] : []),
  ]);
  for (const command of plan.commands) lines.push(`${dry ? "would run" : "runs"} ${shown(command)}`);
  if (plan.note !== undefined) lines.push(plan.note);
  return `${lines.join("\n")}\nUndo: camel-mcp cron uninstall ${plan.kind}\n`;
}

/** As a person would type it. */
function shown(command: readonly string[]): string {
  return command.map((word) => (/[\s"']/.test(word) ? JSON.stringify(word) : word)).join(" ");
}

function systemdWord(word: string): string {
  return /^[\w./@:=-]+$/.test(word)
    ? word
    : `"${word.replaceAll(/["\\]/g, "\\$&").replaceAll("%", "%%").replaceAll("$", "$$$$")}"`;
}

/** For sh, and with % escaped, which cron reads as the end of the line. */
function crontabWord(word: string): string {
  const quoted = /^[\w./@:=-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
  return quoted.replaceAll("%", String.raw`\%`);
}

function windowsWord(word: string): string {
  return /[\s"]/.test(word) ? `"${word.replaceAll('"', String.raw`\"`)}"` : word;
}

function plist(argv: readonly string[], searched: string): string {
  const xml = (text: string): string =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const words = argv.map((word) => `    <string>${xml(word)}</string>`).join("\n");
  const environment =
    searched === ""
      ? ""
      : `  <key>EnvironmentVariables</key>
  <dict>
    <key>PATH</key>
    <string>${xml(searched)}</string>
  </dict>
`;
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${LABEL}</string>
  <key>ProgramArguments</key>
  <array>
${words}
  </array>
${environment}  <key>StartInterval</key>
  <integer>60</integer>
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
`;
}
