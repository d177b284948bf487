import { PassThrough } from "node:stream";
import { openBridge } from "../client/bridge.ts";
import { CamelClientError, type ClientErrorCode } from "../client/errors.ts";
import type { CommandContext } from "../cli.ts";
import { CamelError, type ErrorCode } from "../shared/errors.ts";
import { hostGone } from "../transport/host-gone.ts";
import { MAX_MESSAGE_BYTES } from "../transport/line-guard.ts";
import { withResourceUpdates } from "../transport/listen.ts";
import { createStdioWire } from "../transport/stdio-wire.ts";
import { usageError } from "./options.ts";
import { quietConsole } from "./quiet-console.ts";
import { stopOnSignals } from "./until-stopped.ts";

const TOKEN_ENV = "CAMEL_TOKEN";

/** For hosts that only start commands: a stdio server that is really one elsewhere, reached over HTTP. */
export async function connect({ words, flags, log }: CommandContext): Promise<number> {
  const url = endpoint(words[0]);
  const tokenEnv = flags["token-env"] ?? TOKEN_ENV;
  const token = process.env[tokenEnv];
  quietConsole();

  const { stdin, stdout } = process;
  // Read from the start, so that its end is noticed while there is no server to hand anything to.
  const lines = stdin.pipe(new PassThrough());
  const wire = createStdioWire({
    stdin: lines,
    stdout,
    maxBytes: MAX_MESSAGE_BYTES,
    refuse(code, message, id = null) {
      log.warn(message);
      stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
    },
  });
  const ended = hostGone({ stdin, stdout, wire, lines });
  const opening = openBridge({
    url,
    token: token === "" ? undefined : token,
    wire,
    log,
    followResources: withResourceUpdates,
  }).catch((error: unknown) => {
    throw explain(error, tokenEnv, token);
  });
  let bridge: Awaited<typeof opening> | undefined;
  const { stopped, armBackstop } = stopOnSignals(async () => bridge?.stop());
  for (const event of ["end", "close"]) stdin.once(event, () => armBackstop());
  stdout.once("error", () => armBackstop());
  try {
    bridge = (await Promise.race([opening, stopped])) ?? undefined;
  } finally {
    // An open stdin would keep a process alive that has nothing to connect to.
    if (bridge === undefined) stdin.destroy();
  }
  if (bridge === undefined) return 0;
  if (stdin.isTTY)
    process.stderr.write(
      `Connected to ${url}. It waits for a host on stdin and stdout. Press Ctrl-C to leave.\n`,
    );
  await Promise.race([ended, stopped]);
  await bridge.stop();
  stdin.destroy();
  return 0;
}

/** The address of a server is usually given without the path. */
function endpoint(given: string | undefined): string {
  if (given === undefined) throw usageError("Which server? Give its address, as http://127.0.0.1:7800/mcp.");
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol))
    throw usageError(`"${given}" is not an http or https address.`);
  const url = new URL(given);
  if (url.pathname === "/") url.pathname = "/mcp";
  return url.href;
}

const CODES: Partial<Record<ClientErrorCode, ErrorCode>> = {
  unauthorized: "unauthorized",
  forbidden: "unauthorized",
  not_mcp: "not_found",
  timeout: "timeout",
};

function explain(thrown: unknown, tokenEnv: string, token: string | undefined): unknown {
  if (!(thrown instanceof CamelClientError)) return thrown;
  const { code, message, next } = thrown;
  const about =
    code === "unauthorized"
      ? `${token === undefined ? `Put a token in ${tokenEnv}` : `The one in ${tokenEnv} is not valid`}. Make one on the server with \`camel-mcp token create --agent ID\`.`
      : next;
  return new CamelError(CODES[code] ?? "unavailable", message, {
    cause: thrown,
    ...(about === undefined ? {} : { next: about }),
  });
}
