import { z } from "zod";
import { cronSchema, runnerSchema } from "./config-cron.ts";

/**
 * The configuration: one schema gives the types, the defaults, the editor's JSON schema and the checks.
 * Loading, merging and reloading are in config-load.ts.
 */
const nameGlobs = z.array(z.string().min(1));

const toolsSchema = z.strictObject({
  allow: nameGlobs
    .default([])
    .describe("If not empty, only these tools may be used. Names or globs (`memory_*`)."),
  deny: nameGlobs
    .default([])
    .describe("These tools are never available, whatever `allow` says. Names or globs."),
});

const autonomySchema = z.strictObject({
  level: z
    .enum(["readonly", "supervised", "full"])
    .default("full")
    .describe(
      "readonly: only tools that read. supervised: everything else asks. full: allowed unless a rule says no.",
    ),
  forbiddenPaths: z
    .array(z.string().min(1))
    .default([])
    .describe("Folders or globs no tool may touch, added to the built-in ones. `~` is the user's home."),
  sensitiveFiles: z
    .array(z.string().min(1))
    .default([])
    .describe("Globs of files with secrets no tool may read or write, added to the built-in ones."),
  allowSensitiveFiles: z
    .boolean()
    .default(false)
    .describe("Turns the built-in list of sensitive files off. Only the user's own config file may do this."),
});

const ruleSchema = z.strictObject({
  tool: z.string().min(1).describe("Name or glob of the tools this rule is about."),
  path: z
    .string()
    .min(1)
    .optional()
    .describe("Glob, relative to the workspace or absolute. Matches if any touched path matches."),
  command: z.string().min(1).optional().describe("Glob over a command's argv joined by spaces."),
  decision: z.enum(["allow", "ask", "deny"]),
  reason: z.string().min(1).optional().describe("Shown to the model when the rule refuses."),
  match: z
    .array(z.string().min(1))
    .optional()
    .describe("Examples this rule must match; checked when the file is loaded."),
  notMatch: z
    .array(z.string().min(1))
    .optional()
    .describe("Examples this rule must not match; checked when the file is loaded."),
});

const policyShape = {
  tools: toolsSchema.prefault({}),
  autonomy: autonomySchema.prefault({}),
  rules: z
    .array(ruleSchema)
    .default([])
    .describe("Allow, ask or deny by tool, path and command. The strictest match wins."),
};

const scopeSchema = z.strictObject({
  match: z
    .strictObject({
      agent: z.string().min(1).optional(),
      client: z.string().min(1).optional(),
      token: z.string().min(1).optional(),
      depth: z.number().int().min(0).optional().describe("Callers at this depth or deeper."),
    })
    .describe("Who this scope is about; all given fields must match. Globs."),
  ...policyShape,
});

const seconds = z.number().positive();

const toolLimitsSchema = z.strictObject({
  tool: z.string().min(1).describe("Name or glob of the tools these limits are about."),
  rateLimit: z
    .strictObject({ calls: z.number().int().min(1), perSeconds: seconds })
    .optional()
    .describe("So many calls by one caller in any window of that length."),
  maxExecutionsPerRun: z.number().int().min(1).optional().describe("Calls in one session."),
  timeoutSeconds: seconds.optional(),
  cache: z
    .union([
      z.boolean(),
      z.strictObject({
        fields: z
          .array(z.string().min(1))
          .optional()
          .describe("Parameters that make up the key. Default: all."),
        ttlSeconds: seconds.optional(),
        scope: z.enum(["session", "agent", "global"]).optional(),
      }),
    ])
    .optional()
    .describe("Only calls that read are cached."),
  retry: z
    .strictObject({
      maxRetries: z.number().int().min(0).max(10).optional(),
      backoffMs: z.number().int().min(1).optional(),
      codes: z.array(z.string().min(1)).optional().describe("Error codes worth a retry."),
    })
    .optional()
    .describe("Only idempotent tools are tried again."),
  circuitBreaker: z
    .strictObject({ threshold: z.number().int().min(1), cooldownSeconds: seconds.optional() })
    .optional()
    .describe("After so many failures in a row the tool is refused until the cool-down is over."),
});

const approvalsSchema = z.strictObject({
  mode: z
    .enum(["off", "smart", "always"])
    .default("off")
    .describe("off: only rules ask. smart: everything but reading asks. always: every call asks."),
  allowlist: z
    .array(z.string().min(1))
    .default([])
    .describe(
      "Calls that needn't ask: `Tool`, or `Tool:pattern` for the paths, commands and addresses it touches.",
    ),
  timeoutSeconds: seconds.default(120).describe("How long a person has to answer."),
  fallback: z
    .enum(["deny", "allow"])
    .default("deny")
    .describe("What happens when nobody answers in that time."),
  elicitation: z
    .enum(["auto", "off"])
    .default("auto")
    .describe("auto: ask in the host where it can show a question. off: for hosts that choke on one."),
  forward: z
    .strictObject({
      command: z
        .array(z.string())
        .min(1)
        .optional()
        .describe(
          "Gets the request as JSON on stdin. Exit 0 approves, 1 denies, anything else decides nothing.",
        ),
      webhook: z.url().optional().describe("Gets the request as JSON with signed links to approve or deny."),
      replyUrl: z
        .url()
        .optional()
        .describe("Address of `camel-mcp serve` as the reader of the webhook sees it."),
    })
    .optional()
    .describe("Who else is told about a request that waits."),
});

const hooksSchema = z.strictObject({
  enabled: z.boolean().default(false).describe("Runs the scripts in hooks/ of the state directory."),
  timeoutSeconds: seconds.default(10).describe("A script is ended after this time."),
});

const clientToolSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,47}$/),
  description: z.string().optional().describe("Tells the model when to call it."),
  properties: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .optional()
    .describe("The parameters, each a JSON Schema."),
  schema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("The whole input as a JSON Schema; instead of properties."),
  handler: z.strictObject({
    bash: z.string().min(1).describe("The command or script bash runs."),
    injectArgsAs: z
      .enum(["env", "argv", "both"])
      .default("env")
      .describe("env: as CAMEL_ARG_<NAME> and, where harmless, as <NAME>. argv: as one JSON argument."),
  }),
  cwd: z.string().min(1).optional().describe("Where it runs, relative to the workspace."),
  timeoutSeconds: seconds.default(30),
  outputBytes: z.number().int().min(1).max(10_000_000).default(200_000),
});

export const configSchema = z.strictObject({
  ...policyShape,
  cron: cronSchema.prefault({}),
  runner: runnerSchema.prefault({}),
  tools: z
    .strictObject({
      ...toolsSchema.shape,
      tier: z
        .enum(["core", "extended", "full"])
        .default("extended")
        .describe("core: the five tools. extended: plus their helpers. full: everything."),
      prefix: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,15}$/)
        .optional()
        .describe("Put before every tool's name, for hosts that add no prefix of their own."),
    })
    .prefault({}),
  scopes: z
    .array(scopeSchema)
    .default([])
    .describe("Narrower policy for some callers. A scope can never widen."),
  approvals: approvalsSchema.prefault({}),
  clientTools: z
    .array(clientToolSchema)
    .default([])
    .describe("Your own scripts as tools. They can't take the name of another tool."),
  hooks: hooksSchema.prefault({}),
  limits: z
    .strictObject({
      tools: z
        .array(toolLimitsSchema)
        .default([])
        .describe("Limits by tool; a later entry wins over an earlier one."),
      timeoutSeconds: seconds.default(50).describe("A call is ended after this time."),
      outputChars: z
        .number()
        .int()
        .min(500)
        .max(20_000)
        .default(8_000)
        .describe("Longer results are cut at a line end; get_tool_response pages through the rest."),
    })
    .prefault({}),
  memory: z
    .strictObject({
      root: z
        .string()
        .min(1)
        .optional()
        .describe("Folder with MEMORY.md and memory/. Default: the workspace."),
      ranking: z
        .enum(["passages", "keyword"])
        .default("passages")
        .describe("passages: ranked passages. keyword: a plain count of query words, to compare with."),
      shared: z
        .array(
          z.strictObject({
            name: z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/),
            root: z.string().min(1),
            agents: z
              .array(z.string().min(1))
              .default(["*"])
              .describe("Globs of the agents that may read it."),
          }),
        )
        .default([])
        .describe("Other folders with memory files, searched too, read-only, shown as shared/NAME/…"),
      embeddings: z
        .strictObject({
          baseUrl: z
            .url({ protocol: /^https?$/ })
            .describe("Up to and without /embeddings, for example http://127.0.0.1:11434/v1."),
          model: z.string().min(1),
          apiKey: z
            .string()
            .min(1)
            .optional()
            .describe("The key, or better the name of the environment variable that holds it."),
          dimensions: z.number().int().min(8).max(4096).optional(),
          timeoutSeconds: seconds.default(2).describe("A search waits no longer for its query's vector."),
        })
        .optional()
        .describe("An OpenAI-compatible endpoint that finds by meaning too. It is sent the memory's text."),
    })
    .prefault({}),
  shell: z
    .strictObject({
      allowedCommands: z
        .array(z.string().min(1))
        .default(["ls", "pwd", "cat", "echo"])
        .describe(
          "Programs (`ls`) or commands (`npm test`, `mytool show *`) that need no approval. Interpreters, wrappers and programs that can start others ask all the same, unless the whole command is written out.",
        ),
      deniedCommands: z
        .array(z.string().min(1))
        .default([])
        .describe("Programs or commands that are never run. Wins over allowedCommands."),
      maxArgs: z.number().int().min(1).default(8).describe("More arguments than this need approval."),
      maxArgLength: z.number().int().min(1).default(128).describe("Longer arguments need approval."),
      outputBytes: z
        .number()
        .int()
        .min(256)
        .max(1_000_000)
        .default(8_192)
        .describe("A program that writes more is stopped; its output is cut here."),
    })
    .prefault({}),
  urlAccess: z
    .strictObject({
      blockPrivateIp: z
        .boolean()
        .default(true)
        .describe("Refuse private, link-local and reserved addresses."),
      allowLoopback: z.boolean().default(false).describe("Let tools reach this machine (127.0.0.0/8, ::1)."),
      enforceDomainAllowlist: z.boolean().default(false).describe("Only hosts in domainAllowlist."),
      domainAllowlist: z
        .array(z.string().min(1))
        .default([])
        .describe("Host names; `*.example.com` covers the names below. Not empty: only these."),
      domainBlocklist: z
        .array(z.string().min(1))
        .default([])
        .describe("Host names that are never reached, with all names below them."),
      ports: z
        .array(z.number().int().min(1).max(65_535))
        .default([])
        .describe("Ports that may be reached. Empty: every port but those of other protocols."),
      maxResponseBytes: z
        .number()
        .int()
        .min(1_024)
        .max(10_000_000)
        .default(1_000_000)
        .describe("Longer responses are cut."),
      timeoutSeconds: seconds.default(30).describe("A request is ended after this time."),
    })
    .prefault({}),
  dynamicTools: z
    .strictObject({
      enabled: z.boolean().default(true).describe("Let agents make tools, and use the ones they made."),
      maxTools: z.number().int().min(1).max(10_000).default(1_000).describe("Tools that may be stored."),
      evolve: z
        .enum(["off", "offer", "auto"])
        .default("offer")
        .describe("offer: say how a failing tool could be repaired. auto: let the runner repair it."),
      keychain: z
        .boolean()
        .default(true)
        .describe("Keep the key of the tool store in the system's keychain where there is one."),
    })
    .prefault({}),
  audit: z
    .strictObject({
      enabled: z
        .boolean()
        .default(true)
        .describe("Writes every call and its outcome to audit/ of the state directory."),
      maxBytes: z
        .number()
        .int()
        .min(10_000)
        .default(10_000_000)
        .describe("The log is rotated past this size."),
      keep: z.number().int().min(0).default(5).describe("How many rotated logs are kept."),
    })
    .prefault({}),
  results: z
    .strictObject({
      maxAgeHours: z
        .number()
        .positive()
        .default(24)
        .describe("How long a result that was cut can be paged through."),
      maxCount: z.number().int().min(1).default(200).describe("Archived results kept for each agent."),
    })
    .prefault({}),
  checkpoints: z
    .strictObject({
      maxAgeDays: z.number().positive().default(30).describe("Older ones are removed."),
      maxBytes: z
        .number()
        .int()
        .min(0)
        .default(500_000_000)
        .describe(
          "Old contents kept in all, each counted once. The newest checkpoint stays, whatever its size.",
        ),
      maxCount: z.number().int().min(1).default(500).describe("More than this, and the oldest are removed."),
    })
    .prefault({})
    .describe("How much is kept to undo what tools changed."),
  http: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default("127.0.0.1")
        .describe("Any other address than loopback demands tokens."),
      port: z.number().int().min(0).max(65_535).default(7_800).describe("0 takes a free one."),
      allowedHosts: z
        .array(z.string().min(1))
        .default([])
        .describe("Host names accepted besides loopback and `host`."),
      allowedOrigins: z
        .array(z.string().min(1))
        .default([])
        .describe("Browser origins' host names accepted besides loopback."),
      maxBodyBytes: z
        .number()
        .int()
        .min(1_024)
        .max(16_000_000)
        .default(4_000_000)
        .describe("Longer requests are answered 413."),
      maxSessions: z.number().int().min(1).default(200).describe("Sessions open at once."),
      maxConcurrent: z
        .number()
        .int()
        .min(1)
        .default(256)
        .describe("Requests served at once; more are answered 503."),
      idleSeconds: seconds.default(1_800).describe("A session nobody uses is closed after this time."),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
export type PolicyConfig = Pick<Config, "autonomy" | "rules"> & {
  tools: { allow: string[]; deny: string[] };
  approvals?: Pick<Config["approvals"], "mode">;
};
export type Rule = z.output<typeof ruleSchema>;
export type { ConfigJob, RunnerConfig } from "./config-cron.ts";
export type ScopeMatch = z.output<typeof scopeSchema>["match"];

export function configJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "camel-mcp configuration" };
}
