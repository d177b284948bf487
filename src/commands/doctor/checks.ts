import { get } from "node:http";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";
import { join } from "node:path";
import { stat } from "node:fs/promises";
import { createCamel, type Camel, type CamelOptions } from "../../camel.ts";
import type { CommandContext } from "../../cli.ts";
import type { Config } from "../../config/schema.ts";
import { systemClock } from "../../shared/clock.ts";
import { toCamelError } from "../../shared/errors.ts";
import { closest } from "../../shared/glob.ts";
import { silentLogger } from "../../shared/log.ts";
import { createFolderNames, resolveWorkspace } from "../../shared/workspace.ts";
import { createFileTokens } from "../../stores/tokens.ts";
import { builtinTools } from "../../tools/index.ts";
import { shellCaller } from "../shell-call.ts";
import { isWritable } from "./check-stores.ts";
import type { Finding } from "./doctor.ts";

const OLDEST_NODE = [20, 19] as const;

export function checkNode(version: string): Finding[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  return isOld
    ? [
        {
          check: "node",
          status: "fail",
          says: `Node ${version} is too old.`,
          remedy: `Install Node ${OLDEST_NODE.join(".")} or newer, and make sure the host starts that one.`,
        },
      ]
    : [{ check: "node", status: "ok", says: `Node ${version}` }];
}

/** Also makes the product that the other checks look at; with a broken config it runs on the defaults. */
export async function checkConfig(options: CamelOptions): Promise<{ camel: Camel; findings: Finding[] }> {
  try {
    const camel = await createCamel({ ...options, log: silentLogger });
    const { layers, warnings } = camel.config();
    return {
      camel,
      findings: [
        { check: "config", status: "ok", says: layers.map((layer) => layer.source).join(", then ") },
        ...warnings.map((says): Finding => ({
          check: "config",
          status: "warn",
          says,
          remedy: "Take it out of that file, or put it in your own config.",
        })),
      ],
    };
  } catch (thrown) {
    const { message, next } = toCamelError(thrown);
    return {
      camel: await createCamel({ ...options, log: silentLogger, startBroken: true }),
      findings: [
        {
          check: "config",
          status: "fail",
          says: message,
          remedy: next ?? "Correct the file; every call is refused until then.",
        },
      ],
    };
  }
}

export function policySummary(camel: Camel, agentId: string): Finding[] {
  const { settings, layers } = camel.config();
  // Only a config that can't be read leaves no layer at all.
  if (layers.length === 0)
    return [
      {
        check: "policy",
        status: "fail",
        says: "every call is refused, because the config can't be read",
        remedy: "Correct the config first.",
      },
    ];
  const count = (pick: (config: Config) => readonly unknown[]): number =>
    layers.reduce((sum, layer) => sum + pick(layer.config).length, 0);
  const listed = camel.dispatcher.list(shellCaller(agentId));
  const says =
    `agent ${agentId} sees ${listed.length} tools (tier ${settings.tools.tier}); autonomy ${settings.autonomy.level}; ` +
    `${count((one) => one.tools.allow)} allowed and ${count((one) => one.tools.deny)} denied by name; ` +
    `${count((one) => one.rules)} rules; ${count((one) => one.scopes)} scopes`;
  return [
    listed.length > 0
      ? { check: "policy", status: "ok", says }
      : {
          check: "policy",
          status: "warn",
          says,
          remedy: "No tool is left. Look at tools.allow and tools.deny in the config files named above.",
        },
    ...misspelled(camel),
  ];
}

/** A name that is no tool's protects nothing: a denied "crn" leaves cron allowed. */
function misspelled(camel: Camel): Finding[] {
  const { settings, layers } = camel.config();
  const all = [...builtinTools, ...settings.clientTools].map((tool) => tool.name);
  const findings: Finding[] = [];
  for (const { source, config } of layers) {
    for (const policy of [config, ...config.scopes]) {
      const named = [...policy.tools.allow, ...policy.tools.deny, ...policy.rules.map((rule) => rule.tool)];
      if (policy === config)
        named.push(
          ...config.limits.tools.map((limits) => limits.tool),
          ...config.approvals.allowlist.map((entry) => entry.split(":", 1)[0] ?? ""),
        );
      for (const name of named) {
        const guess = all.includes(name) ? undefined : closest(name, all);
        if (guess !== undefined)
          findings.push({
            check: "policy",
            status: "warn",
            says: `${source} names "${name}", which is no tool.`,
            remedy: `Did you mean "${guess}"? A tool made with tool_create may be called so, too.`,
          });
      }
    }
  }
  return findings;
}

export async function checkWorkspace({ flags }: CommandContext): Promise<Finding[]> {
  const { env } = process;
  const hints = {
    explicit: flags.workspace ?? (env["CAMEL_WORKSPACE"] || undefined),
    host: env["CLAUDE_PROJECT_DIR"],
    cwd: process.cwd(),
  };
  try {
    const folders = createFolderNames(systemClock);
    const path = await resolveWorkspace(hints, () => Promise.resolve([]), "write", folders);
    if (await isWritable(path)) return [{ check: "workspace", status: "ok", says: path }];
    return [
      {
        check: "workspace",
        status: "warn",
        says: `${path} can't be written to; tools that write fail there.`,
        remedy: "Correct its owner and rights, or start with --workspace DIR.",
      },
    ];
  } catch (error) {
    const { message } = toCamelError(error);
    return hints.explicit === undefined
      ? [
          {
            check: "workspace",
            status: "warn",
            says: message,
            remedy: "A host that tells its own folder is fine; else start with --workspace DIR.",
          },
        ]
      : [
          {
            check: "workspace",
            status: "fail",
            says: message,
            remedy: "Make the folder, or give another with --workspace or CAMEL_WORKSPACE.",
          },
        ];
  }
}

export async function checkTokens(camel: Camel): Promise<Finding[]> {
  const path = join(camel.home, "tokens.json");
  const tokens = await createFileTokens({ path, clock: systemClock }).list();
  const active = tokens.filter((token) => token.revoked === undefined).length;
  const { host } = camel.config().settings.http;
  const findings: Finding[] = [];
  const isLoopback = host === "localhost" || host === "::1" || host.startsWith("127.");
  if (!isLoopback && active === 0) {
    findings.push({
      check: "tokens",
      status: "fail",
      says: `http.host is ${host} and there is no token, so \`serve\` refuses to start.`,
      remedy: "Make one with `camel-mcp token create --agent ID`, or set http.host to 127.0.0.1.",
    });
  }
  const mode = (await stat(path).catch(() => undefined))?.mode ?? 0o600;
  if (process.platform !== "win32" && (mode & 0o077) !== 0) {
    findings.push({
      check: "tokens",
      status: "warn",
      says: `${path} can be read by other users of this computer.`,
      remedy: `chmod 600 ${path}`,
    });
  }
  const needed =
    tokens.length === 0 ? "none; on loopback `serve` lets every local program in" : `${active} active`;
  return findings.length > 0 ? findings : [{ check: "tokens", status: "ok", says: needed }];
}

export async function checkPort({ host, port }: Config["http"]): Promise<Finding[]> {
  const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    const probe = createServer();
    probe.once("error", resolve);
    probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  });
  const where = `${host}:${port}`;
  if (failure === undefined) return [{ check: "port", status: "ok", says: `${where} is free for \`serve\`` }];
  if (failure.code === "EADDRINUSE" && (await isOurs(host, port)))
    return [{ check: "port", status: "ok", says: `a camel-mcp server answers on ${where}` }];
  return [
    {
      check: "port",
      status: "warn",
      says: `${where} can't be used: ${failure.code === "EADDRINUSE" ? "another program has it" : failure.message}.`,
      remedy: "Only `serve` needs it: give --port NUMBER, or set http.port in the config.",
    },
  ];
}

/** http.get and not fetch, which can let the process end while it waits for a peer that closes at once. */
function isOurs(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const address = host === "0.0.0.0" ? "127.0.0.1" : host;
    const request = get({ host: address, port, path: "/healthz", timeout: 2_000 }, (answer) => {
      text(answer).then(
        (body) => resolve(body.includes('"camel-mcp"')),
        () => resolve(false),
      );
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });
}
