import { z } from "zod";

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

export const configSchema = z.strictObject({
  ...policyShape,
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
  limits: z
    .strictObject({
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
    })
    .prefault({}),
  shell: z
    .strictObject({
      allowedCommands: z
        .array(z.string().min(1))
        .default(["ls", "pwd", "cat", "echo"])
        .describe(
          "Programs (`ls`) or commands (`npm test *`) that need no approval. Interpreters, wrappers and programs that can start others ask all the same.",
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
      domainBlocklist: z.array(z.string().min(1)).default([]).describe("Host names that are never reached."),
      ports: z
        .array(z.number().int().min(1).max(65_535))
        .default([])
        .describe("Ports that may be reached. Empty: every port."),
      maxResponseBytes: z.number().int().min(1_024).max(10_000_000).default(1_000_000),
      timeoutSeconds: seconds.default(30),
    })
    .prefault({}),
  dynamicTools: z
    .strictObject({
      enabled: z.boolean().default(true).describe("Let agents make tools, and use the ones they made."),
      maxTools: z.number().int().min(1).max(10_000).default(1_000),
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
      enabled: z.boolean().default(true),
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
      maxAgeHours: z.number().positive().default(24),
      maxCount: z.number().int().min(1).default(200).describe("Archived results kept for each agent."),
    })
    .prefault({}),
  http: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default("127.0.0.1")
        .describe("Any other address than loopback demands tokens."),
      port: z.number().int().min(0).max(65_535).default(7_800),
      allowedHosts: z
        .array(z.string().min(1))
        .default([])
        .describe("Host names accepted besides loopback and `host`."),
      allowedOrigins: z
        .array(z.string().min(1))
        .default([])
        .describe("Browser origins' host names accepted besides loopback."),
      maxBodyBytes: z.number().int().min(1_024).max(16_000_000).default(4_000_000),
      maxSessions: z.number().int().min(1).default(200),
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
};
export type Rule = z.output<typeof ruleSchema>;
export type ScopeMatch = z.output<typeof scopeSchema>["match"];

export const defaultConfig: Config = configSchema.parse({});

export function configJsonSchema(): Record<string, unknown> {
  return { ...z.toJSONSchema(configSchema, { io: "input" }), title: "camel-mcp configuration" };
}
