import { createCamel } from "../camel.ts";
import type { CommandContext } from "../cli.ts";
import { systemClock } from "../shared/clock.ts";
import { VERSION } from "../shared/version.ts";
import { scheduleLazily } from "../transport/lazy-schedule.ts";
import { serveOnHttp } from "../transport/http.ts";
import { camelOptions, usageError } from "./options.ts";
import { say } from "./shell-call.ts";
import { stopOnSignals } from "./until-stopped.ts";

export async function serve(context: CommandContext): Promise<number> {
  const { flags, log } = context;
  const camel = await createCamel({ ...camelOptions(context), startBroken: true });
  const { http } = camel.config().settings;
  const port = flags.port === undefined ? http.port : Number(flags.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw usageError(`--port: "${flags.port}" is not a port.`);
  const host = flags.host ?? http.host;
  const server = await serveOnHttp({ camel, agentId: context.agentId, host, port, log });
  say(
    context,
    { url: `${server.url}/mcp`, sse: `${server.url}/sse`, pid: process.pid },
    `camel-mcp ${VERSION} listens on ${server.url}/mcp (older hosts: ${server.url}/sse). Ctrl-C stops it.\n`,
  );
  const schedule = scheduleLazily({ camel, clock: systemClock, log });
  const { stopped } = stopOnSignals(server.stop);
  await stopped;
  await schedule.stop();
  return 0;
}
