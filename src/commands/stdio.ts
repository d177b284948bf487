import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { VERSION } from "../shared/version.ts";
import { serveOnStdio } from "../transport/stdio.ts";
import { camelOptions } from "./options.ts";
import { stopOnSignals } from "./until-stopped.ts";

const FOR_A_PERSON = `camel-mcp ${VERSION} is an MCP server: a host such as Claude Code or VS Code starts it and talks to it on
stdin and stdout. It is waiting for that now. Press Ctrl-C to leave.

  See it work:      npx camel-mcp demo
  Register it:      claude mcp add camel -- npx -y camel-mcp
  Everything else:  npx camel-mcp --help
`;

/** What mcp.json starts. Nothing but the protocol reaches stdout. */
export async function stdio(context: CommandContext): Promise<number> {
  if (process.stdin.isTTY) process.stderr.write(FOR_A_PERSON);
  // A library that logs must not break the protocol.
  const toStderr = (...parts: unknown[]): void =>
    void process.stderr.write(`${parts.map(String).join(" ")}\n`);
  Object.assign(console, { log: toStderr, info: toStderr, debug: toStderr, warn: toStderr });

  const camel = await createCamel({ ...camelOptions(context), startBroken: true });
  const running = serveOnStdio({
    camel,
    version: VERSION,
    agentId: context.agentId,
    stdin: process.stdin,
    stdout: process.stdout,
    log: context.log,
  });
  const { stopped, armBackstop } = stopOnSignals(running.stop);
  await Promise.race([running.done, stopped]);
  armBackstop();
  process.stdin.destroy();
  return 0;
}
