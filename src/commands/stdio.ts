import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { VERSION } from "../shared/version.ts";
import { scheduleLazily } from "../transport/lazy-schedule.ts";
import { serveOnStdio } from "../transport/stdio.ts";
import { camelOptions, depthOf } from "./options.ts";
import { quietConsole } from "./quiet-console.ts";
import { stopOnSignals } from "./until-stopped.ts";

const FOR_A_PERSON = `camel-mcp ${VERSION} is an MCP server: a host such as Claude Code or VS Code starts it and talks to it on
stdin and stdout. It is waiting for that now. Press Ctrl-C to leave.

  See it work:      npx camel-mcp demo
  Register it:      npx camel-mcp install claude-code   (vscode, codex, gemini, ...: npx camel-mcp install --list)
  Everything else:  npx camel-mcp --help
`;

/** What mcp.json starts. Nothing but the protocol reaches stdout. */
export async function stdio(context: CommandContext): Promise<number> {
  if (process.stdin.isTTY) process.stderr.write(FOR_A_PERSON);
  quietConsole();

  const camel = await createCamel({ ...camelOptions(context), startBroken: true });
  const running = serveOnStdio({
    camel,
    version: VERSION,
    agentId: context.agentId,
    depth: depthOf(process.env),
    stdin: process.stdin,
    stdout: process.stdout,
    log: context.log,
  });
  const schedule = scheduleLazily({ camel, clock: systemClock, log: context.log });
  const { stopped, armBackstop } = stopOnSignals(running.stop);
  await Promise.race([running.done, stopped]);
  // The last answers had three seconds already.
  armBackstop(1_500);
  await schedule.stop();
  process.stdin.destroy();
  return 0;
}
