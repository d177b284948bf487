import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { spawn } from "node:child_process";
import { link, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Config } from "../config/schema.ts";
import { codeOf } from "../shared/errors.ts";
import type { Logger } from "../shared/log.ts";
import { signalGroup } from "../shared/process-group.ts";
import type { ApprovalRequest, ApprovalStore } from "../stores/approvals.ts";

/**
 * Tells a script or a web service about a request that waits. The script's exit decides; the service gets signed
 * links to a page of `camel-mcp serve`, where a person decides.
 */
export function createForward(options: {
  store: ApprovalStore;
  keyFile: string;
  settings: () => Config["approvals"];
  log: Logger;
}): (request: ApprovalRequest, signal: AbortSignal) => void {
  const { store, log } = options;
  return function forward(request, signal) {
    const { forward: target } = options.settings();
    if (target?.command !== undefined) {
      void runCommand(target.command, request, signal).then(
        async (code) => {
          if (code === 0) await store.decide(request.id, { decision: "allow", by: "forward" });
          else if (code === 1) await store.decide(request.id, { decision: "deny", by: "forward" });
          else log.warn(`approvals.forward.command decided nothing (exit ${code ?? "none"})`);
        },
        (error: unknown) => log.warn(`approvals.forward.command: ${String(error)}`),
      );
    }
    if (target?.webhook !== undefined) {
      void post(target.webhook, target.replyUrl, request, options.keyFile, signal).catch((error: unknown) => {
        if (!signal.aborted) log.warn(`approvals.forward.webhook: ${String(error)}`);
      });
    }
  };
}

function runCommand(
  argv: readonly string[],
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const [program = "", ...args] = argv;
    const child = spawn(program, args, { stdio: ["pipe", "ignore", "ignore"], detached: true });
    const stop = (): void => signalGroup(child);
    signal.addEventListener("abort", stop, { once: true });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(request));
    child.on("error", reject);
    child.on("exit", (code) => {
      signal.removeEventListener("abort", stop);
      resolve(code);
    });
  });
}

async function post(
  webhook: string,
  replyUrl: string | undefined,
  request: ApprovalRequest,
  keyFile: string,
  signal: AbortSignal,
): Promise<void> {
  const links =
    replyUrl === undefined
      ? undefined
      : {
          approve: await signedLink(replyUrl, request, "allow", keyFile),
          deny: await signedLink(replyUrl, request, "deny", keyFile),
        };
  const answer = await fetch(webhook, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ...request, links }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(10_000)]),
    redirect: "error",
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`the webhook answered ${answer.status}`);
}

async function signedLink(
  base: string,
  request: ApprovalRequest,
  decision: "allow" | "deny",
  keyFile: string,
): Promise<string> {
  const url = new URL(`/approvals/${request.id}`, base);
  url.searchParams.set("decision", decision);
  url.searchParams.set("created", String(request.createdAt));
  url.searchParams.set("sig", sign(await signingKey(keyFile), request.id, decision, request.createdAt));
  return url.href;
}

/** Whether a reply link was made here, for this very request: `created` ties it to one life of the id. */
export async function isGenuineReply(
  keyFile: string,
  request: ApprovalRequest,
  decision: string,
  signature: string,
): Promise<boolean> {
  const expected = Buffer.from(sign(await signingKey(keyFile), request.id, decision, request.createdAt));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

function sign(key: Buffer, id: string, decision: string, created: number): string {
  return createHmac("sha256", key).update(`${id}\n${decision}\n${created}`).digest("base64url");
}

/** Made once and shared by the processes of a home; the link appears whole, so two makers agree on one key. */
async function signingKey(file: string): Promise<Buffer> {
  const found = await readFile(file).catch(() => undefined);
  if (found !== undefined && found.length === 32) return found;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const finished = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  await writeFile(finished, randomBytes(32), { mode: 0o600, flag: "wx" });
  try {
    await link(finished, file);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
  } finally {
    await unlink(finished).catch(() => {});
  }
  return readFile(file);
}
