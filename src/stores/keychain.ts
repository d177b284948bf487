import { spawn } from "node:child_process";
import { defaultHome } from "../shared/own-command.ts";

/** The system's own store of secrets, through the program that comes with the system. */
export interface Keychain {
  read(): Promise<string | undefined>;
  write(value: string): Promise<void>;
}

const SERVICE = "camel-mcp";

/** Only for the user's own home: throw-away homes keep their key beside them and leave nothing behind. */
export async function openKeychain(home: string): Promise<Keychain | undefined> {
  if (home !== defaultHome()) return undefined;
  if (process.platform === "darwin") return macKeychain(home);
  // Without a session bus there is nobody to ask, and asking may wait for a time-out.
  if (process.platform === "linux" && process.env["DBUS_SESSION_BUS_ADDRESS"] !== undefined) {
    const there = await run("secret-tool", ["--version"]).then(
      () => true,
      () => false,
    );
    return there ? linuxKeychain(home) : undefined;
  }
  return undefined;
}

function macKeychain(account: string): Keychain {
  return {
    read: () =>
      run("/usr/bin/security", ["find-generic-password", "-s", SERVICE, "-a", account, "-w"]).then(
        (out) => Buffer.from(out.trim(), "base64").toString(),
        () => undefined,
      ),
    // Through `-i` the value goes by stdin and never stands in the list of processes.
    write: async (value) => {
      const encoded = Buffer.from(value).toString("base64");
      await run(
        "/usr/bin/security",
        ["-i"],
        `add-generic-password -U -s ${SERVICE} -a "${account.replaceAll('"', "")}" -w ${encoded}\n`,
      );
    },
  };
}

function linuxKeychain(account: string): Keychain {
  const attributes = ["service", SERVICE, "home", account];
  return {
    read: () =>
      run("secret-tool", ["lookup", ...attributes]).then(
        (out) => (out === "" ? undefined : out),
        () => undefined,
      ),
    write: async (value) => {
      await run("secret-tool", ["store", "--label", "camel-mcp tools", ...attributes], value);
    },
  };
}

function run(program: string, args: readonly string[], stdin = ""): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: ["pipe", "pipe", "ignore"], timeout: 5_000 });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (out += part));
    child.on("error", reject);
    child.on("close", (code) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${program} ended with ${code}`));
    });
    child.stdin.on("error", () => {});
    child.stdin.end(stdin);
  });
}
