import { z } from "zod";
import { cronSchema, runnerSchema } from "./cron-schema.ts";
import {
  approvalsSchema,
  hooksSchema,
  policyShape,
  scopeSchema,
  seconds,
  toolLimitsSchema,
  toolsSchema,
  type ruleSchema,
} from "./policy-schema.ts";

/**
 * The configuration: one schema gives the types, the defaults, the editor's JSON schema and the checks.
 * Reading a file is in parse.ts, merging the files in load.ts.
 */
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
        .describe("Origins of web pages accepted besides loopback; their pages may read the answers (CORS)."),
      maxBodyBytes: z
        .number()
        .int()
        .min(1_024)
        .max(16_000_000)
        .default(4_000_000)
        .describe("Longer requests are answered 413."),
      maxSessions: z
        .number()
        .int()
        .min(1)
        .default(200)
        .describe(
          "Sessions and streams of changes open at once. One more ends the longest unused of whoever has the most.",
        ),
      maxConcurrent: z
        .number()
        .int()
        .min(1)
        .default(256)
        .describe("Requests served at once; more are answered 503."),
      idleSeconds: seconds
        .default(1_800)
        .describe("A session that nobody uses or listens to is closed after this time."),
    })
    .prefault({}),
});

export type Config = z.output<typeof configSchema>;
/** As a file may say it: everything can be left out. */
export type ConfigInput = z.input<typeof configSchema>;
export type PolicyConfig = Pick<Config, "rules"> & {
  /** A scope that says nothing of the built-in list leaves it to its base. */
  autonomy: Omit<Config["autonomy"], "allowSensitiveFiles"> & { allowSensitiveFiles?: boolean | undefined };
  tools: { allow: string[]; deny: string[] };
  approvals?: Pick<Config["approvals"], "mode">;
};
export type Rule = z.output<typeof ruleSchema>;
export type { ConfigJob, RunnerConfig } from "./cron-schema.ts";
export type ScopeMatch = z.output<typeof scopeSchema>["match"];

export function configJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "camel-mcp configuration" };
}
