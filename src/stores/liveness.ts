import { randomBytes } from "node:crypto";
import { mkdir, readdir, unlink } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../shared/errors.ts";
import type { Owner } from "./jobs.ts";

/**
 * A process says that it lives by listening. The kernel closes the socket when the process dies, however it dies;
 * a stopped process still answers, and a later one with the same pid does not.
 */
export interface Presence {
  owner: Owner;
  close(): Promise<void>;
}

/** Unix socket paths are limited to 104 bytes on macOS and 108 on Linux. */
const LONGEST_PATH = 100;
const CONNECT_MS = 2_000;
/** A process that doesn't answer within this time may be stopped. */
const TAKE_MS = 500;
const TAKEN = "taken\n";
const MANY = 100;

/** What other processes may say to this one. */
export interface Listener {
  /** End the run. */
  stop?: () => void;
  /** Do this run. False when it can't be taken. */
  order?: (text: string) => boolean;
}

export async function announce(directory: string, listener: Listener = {}): Promise<Presence> {
  const name = `${process.pid.toString(36)}${randomBytes(5).toString("hex")}`;
  const socket = await socketPath(directory, name);
  await removeDead(directory);
  const connections = new Set<Socket>();
  const server: Server = createServer((connection) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
    connection.on("error", () => {});
    let said = "";
    connection.on("data", (data) => {
      said += data.toString("utf8");
      const line = said.endsWith("\n") ? said.trimEnd() : undefined;
      if (line === "stop") listener.stop?.();
      else if (line !== undefined && listener.order?.(line) === true) {
        // Stays open as long as this process lives: that is how the other side learns of its end.
        connection.setTimeout(0);
        connection.write(TAKEN);
      }
    });
    // A half-open client must not keep this process from ending.
    connection.setTimeout(CONNECT_MS, () => connection.destroy());
    connection.unref();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(socket, resolve);
  });
  server.unref();
  return {
    owner: { pid: process.pid, host: hostname(), socket },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of connections) connection.destroy();
      }),
  };
}

/** Sockets of processes that were killed stay as files; nobody may ever ask after them. */
async function removeDead(directory: string): Promise<void> {
  if (process.platform === "win32") return;
  const sockets = (await readdir(directory).catch(() => [])).filter((name) => name.endsWith(".sock"));
  if (sockets.length < MANY) return;
  await Promise.all(
    sockets.map((name) => isAlive({ pid: 0, host: hostname(), socket: join(directory, name) })),
  );
}

async function socketPath(directory: string, name: string): Promise<string> {
  if (process.platform === "win32") return `\\\\.\\pipe\\camel-mcp-${name}`;
  const beside = join(directory, `${name}.sock`);
  if (Buffer.byteLength(beside) <= LONGEST_PATH) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    return beside;
  }
  return join(tmpdir(), `camel-${name}.sock`);
}

/** Only a refused or missing socket proves death; a busy, stopped or unreachable process counts as alive. */
export async function isAlive(owner: Owner): Promise<boolean> {
  if (owner.host !== hostname()) return true;
  const alive = await say(owner, undefined);
  if (!alive && process.platform !== "win32") await unlink(owner.socket).catch(() => {});
  return alive;
}

/** Asks a supervisor to end its run; false when it is dead. */
export function askToStop(owner: Owner): Promise<boolean> {
  return say(owner, "stop\n");
}

/** Gives a waiting process its run; false when it is not there any more. `onEnd`: it has ended. */
export function giveOrder(socket: string, order: string, onEnd: () => void): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket);
    let isTaken = false;
    connection.once("connect", () => connection.write(`${order}\n`));
    connection.once("data", (data) => {
      isTaken = data.toString("utf8") === TAKEN;
      if (!isTaken) return void connection.destroy();
      connection.setTimeout(0);
      // Not to keep a server alive that its host has left.
      connection.unref();
      resolve(true);
    });
    connection.setTimeout(TAKE_MS, () => connection.destroy());
    connection.on("error", () => {});
    connection.once("close", () => {
      if (isTaken) onEnd();
      else resolve(false);
    });
  });
}

function say(owner: Owner, message: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(owner.socket);
    const done = (alive: boolean): void => {
      connection.destroy();
      resolve(alive);
    };
    connection.setTimeout(CONNECT_MS, () => done(true));
    connection.once("error", (error) => done(!["ECONNREFUSED", "ENOENT"].includes(codeOf(error))));
    connection.once("connect", () => {
      if (message === undefined) done(true);
      else connection.end(message, () => done(true));
    });
  });
}
