import { z } from "zod";
import { CamelError } from "../../shared/errors.ts";
import { isObject } from "../../shared/is-object.ts";
import { inOurWords } from "./usual-spellings.ts";

/**
 * What an agent sends to make a tool. Field names are those of the exchange format, so that a definition exported
 * elsewhere can be imported here. Everything machine-bound (resolved programs, approval, counters) is kept apart.
 */
const text = (longest: number) => z.string().min(1).max(longest);

const shellSchema = z.object({
  type: z.literal("shell"),
  command_template: text(4_000).optional(),
  /** Several commands, each one's output the next one's input. Connected by us, not by a shell. */
  pipeline: z.array(text(4_000)).min(1).max(8).optional(),
  /** Placeholders whose value may begin with "-" though no "--" stands before them. */
  dash_values: z.array(z.string()).max(50).default([]),
  /** Values are fixed here or `secret://name`; never templates. */
  env: z.record(z.string(), z.string().max(4_000)).default({}),
  /** Names passed on from the server's own environment. */
  inherit_env: z.array(z.string()).max(50).default([]),
  /** Folder to run in, relative to the workspace. */
  cwd: z.string().max(500).optional(),
  success_codes: z.array(z.number().int().min(0).max(255)).min(1).default([0]),
  /** Refuse to run when the program's file has changed since the tool was made. */
  pin_hash: z.boolean().default(false),
});

const httpSchema = z.object({
  type: z.literal("http"),
  method: z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  url: text(4_000),
  headers: z.record(z.string(), z.string().max(4_000)).default({}),
  query: z.record(z.string(), z.string().max(4_000)).default({}),
  /** Text, or JSON with placeholders as whole strings. Without it the input itself is sent where the method has a body. */
  body: z.union([z.string(), z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
  /** `data.items[0].name`: only this part of a JSON answer is given back. */
  json_path: z.string().max(500).optional(),
  max_bytes: z.number().int().min(1).max(10_000_000).optional(),
});

const llmSchema = z.object({ type: z.literal("llm"), system_prompt: text(20_000) });

const stepSchema = z.object({
  /** How later steps refer to this one; default: the tool's name. */
  id: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,48}$/)
    .optional(),
  tool_name: text(64),
  /** Text or an object; may hold `{{input}}`, `{{prev}}` and `{{steps.ID.json.path}}`. */
  input_override: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
});

const compositeSchema = z.object({ type: z.literal("composite"), steps: z.array(stepSchema).min(1).max(20) });

const jsSchema = z.object({
  type: z.literal("js"),
  source: text(200_000),
  language: z.enum(["js", "ts"]).default("js"),
  /** The only tools the source may call. */
  tools: z.array(text(64)).max(20).default([]),
  memory_mb: z.number().int().min(4).max(128).default(32),
  max_calls: z.number().int().min(0).max(200).default(50),
});

const envelopeSchema = z.object({
  /** Host names the tool may reach; `*.example.com` covers those below. */
  hosts: z.array(text(260)).max(50).optional(),
  /** Folders or files, absolute or relative to the workspace. */
  paths: z
    .object({
      read: z.array(text(1_000)).max(50).default(["."]),
      write: z.array(text(1_000)).max(50).default([]),
    })
    .optional(),
  /** Whether a sandboxed program may use the network. */
  network: z.boolean().optional(),
});

const exampleSchema = z.object({
  input: z.union([z.string(), z.record(z.string(), z.unknown())]),
  // Strict: what isn't understood would be checked by nobody.
  expect: z
    .strictObject({
      contains: z.string().optional(),
      equals: z.string().optional(),
      /** True where the call has to fail. */
      error: z.boolean().optional(),
    })
    .optional(),
});

const TOOL_NAME = /^[a-z][a-z0-9_]{2,48}$/;

export const definitionSchema = z.object({
  name: z
    .string()
    .regex(TOOL_NAME, "3 to 49 characters: a small letter, then small letters, digits or underscores"),
  title: text(100).optional(),
  description: text(2_000),
  input_schema: z.record(z.string(), z.unknown()).optional(),
  strategy: z.discriminatedUnion("type", [shellSchema, httpSchema, llmSchema, compositeSchema, jsSchema]),
  envelope: envelopeSchema.default({}),
  examples: z.array(exampleSchema).max(20).default([]),
  sandbox: z.enum(["required", "best-effort", "off"]).default("best-effort"),
  timeout_seconds: z.number().positive().max(600).default(30),
  scope: z.enum(["session", "project", "global"]).default("global"),
});

export type Definition = z.output<typeof definitionSchema>;
export type Strategy = Definition["strategy"];
export type StrategyType = Strategy["type"];
export type StrategyOf<Type extends StrategyType> = Extract<Strategy, { type: Type }>;
export type Example = Definition["examples"][number];
export type Sandbox = Definition["sandbox"];

export const STRATEGIES: readonly StrategyType[] = ["shell", "http", "llm", "composite", "js"];

/** Shape only; what the strategy demands is checked by check-definition.ts. */
export function parseDefinition(value: unknown): Definition {
  const parsed = definitionSchema.safeParse(inOurWords(value));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(
    (issue) =>
      `${issue.path.join(".") || "definition"}: ${issue.message.replace(/^Invalid input: (.*), received undefined$/, "missing ($1)")}${issue.path[0] === "name" ? usableName(value) : ""}`,
  );
  throw new CamelError("invalid_input", `The definition is not valid: ${problems.join("; ")}.`, {
    next: "Correct these fields and send the whole definition again. tool_create {action: create} without a definition shows the form.",
    details: { problems },
  });
}

/** `countLines` and `count-lines` as a name that is taken. */
function usableName(value: unknown): string {
  const name = isObject(value) ? value["name"] : undefined;
  if (typeof name !== "string") return "";
  const usable = name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^[^a-z]+|_+$/g, "")
    .slice(0, 49);
  return TOOL_NAME.test(usable) ? `, such as ${usable}` : "";
}
