import { execFile } from "node:child_process";
import { access, constants, realpath } from "node:fs/promises";
import { dirname } from "node:path";
import { isInside } from "../../../shared/paths.ts";
import type { ProcessSpec } from "./process.ts";

export interface SandboxGrant {
  cwd: string;
  /** Absolute, existing. */
  read: readonly string[];
  write: readonly string[];
  network: boolean;
}

export interface SandboxKind {
  name: "bubblewrap" | "sandbox-exec";
  path: string;
}

/** Only where the system keeps its own programs: one found in a folder the user can write could be anything. */
const BWRAP = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
const SANDBOX_EXEC = "/usr/bin/sandbox-exec";

let found: Promise<SandboxKind | undefined> | undefined;

/** What this machine has and that works; asked once, because the answer can't change while we run. */
export function findSandbox(): Promise<SandboxKind | undefined> {
  found ??= detect();
  return found;
}

async function detect(): Promise<SandboxKind | undefined> {
  if (process.platform === "darwin")
    return (await isExecutable(SANDBOX_EXEC)) ? { name: "sandbox-exec", path: SANDBOX_EXEC } : undefined;
  if (process.platform !== "linux") return undefined;
  for (const path of BWRAP) {
    if (!(await isExecutable(path))) continue;
    // In many containers it is installed and may not make namespaces.
    const args = ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"];
    const works = await new Promise<boolean>((resolve) => {
      execFile(path, args, { timeout: 5_000 }, (error) => resolve(error === null));
    });
    if (works) return { name: "bubblewrap", path };
  }
  return undefined;
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** The system, read-only and without the users' files. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix"];
const SYSTEM_SETTINGS = [
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/alternatives",
  "/etc/localtime",
  "/etc/ssl",
  "/etc/ca-certificates",
  "/etc/pki",
  "/etc/passwd",
  "/etc/group",
  "/etc/nsswitch.conf",
];
const NETWORK_SETTINGS = ["/etc/resolv.conf", "/etc/hosts", "/etc/services"];
/** Even in a workspace that may be written: changing these makes other programs run code. */
const NEVER_WRITTEN = [".git", ".hg", ".svn", ".camelagi"];

export async function inSandbox(
  kind: SandboxKind,
  command: ProcessSpec,
  grant: SandboxGrant,
): Promise<ProcessSpec> {
  if (kind.name === "sandbox-exec") return macCommand(kind, command, grant);
  const program = await realpath(command.path);
  const own = [command.path, program]
    .map(dirname)
    .filter((folder) => !SYSTEM.some((root) => isInside(root, folder)));
  return { path: kind.path, args: [...bubblewrapOptions(grant, own), "--", command.path, ...command.args] };
}

/** Later mounts cover earlier ones, so the order is: system, empty /tmp, what may be read, what may be written. */
export function bubblewrapOptions(grant: SandboxGrant, programFolders: readonly string[] = []): string[] {
  const readOnly = (paths: readonly string[]): string[] =>
    paths.flatMap((path) => ["--ro-bind-try", path, path]);
  return [
    "--unshare-all",
    ...(grant.network ? ["--share-net"] : []),
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
    ...readOnly([...SYSTEM, ...SYSTEM_SETTINGS, ...(grant.network ? NETWORK_SETTINGS : [])]),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    ...readOnly(programFolders),
    ...readOnly(grant.read),
    ...grant.write.flatMap((path) => ["--bind-try", path, path]),
    ...readOnly(grant.write.flatMap((path) => NEVER_WRITTEN.map((name) => `${path}/${name}`))),
    "--chdir",
    grant.cwd,
  ];
}

function macCommand(kind: SandboxKind, command: ProcessSpec, grant: SandboxGrant): ProcessSpec {
  const { profile, parameters } = macProfile(grant);
  return {
    path: kind.path,
    args: [
      ...Object.entries(parameters).flatMap(([name, value]) => ["-D", `${name}=${value}`]),
      "-p",
      profile,
      command.path,
      ...command.args,
    ],
  };
}

/** Paths go in as parameters, never as text of the profile. */
export function macProfile(grant: SandboxGrant): { profile: string; parameters: Record<string, string> } {
  const parameters: Record<string, string> = {};
  const rule = (verb: string, paths: readonly string[], prefix: string): string[] =>
    paths.map((path, index) => {
      parameters[`${prefix}${index}`] = path;
      return `(${verb} (subpath (param "${prefix}${index}")))`;
    });
  const guarded = grant.write.flatMap((path) => NEVER_WRITTEN.map((name) => `${path}/${name}`));
  const profile = [
    "(version 1)",
    "(deny default)",
    "(allow process-exec process-fork signal sysctl-read mach-lookup)",
    "(allow file-read-metadata)",
    '(allow file-read* (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library") (subpath "/opt") (subpath "/private/var/db") (literal "/") (literal "/dev/null") (literal "/dev/random") (literal "/dev/urandom"))',
    '(allow file-write-data (literal "/dev/null"))',
    ...(grant.network ? ["(allow network*)"] : []),
    ...rule("allow file-read*", [...grant.read, ...grant.write], "READ"),
    ...rule("allow file-write*", grant.write, "WRITE"),
    ...rule("deny file-write*", guarded, "GUARD"),
  ];
  return { profile: profile.join("\n"), parameters };
}
