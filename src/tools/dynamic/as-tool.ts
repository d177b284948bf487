import { setMaxListeners } from "node:events";
import { z } from "zod";
import { CamelError, toCamelError } from "../../shared/errors.ts";
import type { ToolContext } from "../context.ts";
import type { ToolDef, ToolOutput } from "../tool.ts";
import type { StrategyType } from "./definition.ts";
import { claimsOf, type Claims } from "./effects.ts";
import { widening } from "./envelope.ts";
import { createInputParser } from "./json-schema.ts";
import type { Engine, Run } from "./strategies/strategy.ts";
import { activeVersion, type StoredTool, type ToolVersion } from "./stored.ts";

/** What happened to one call, for the tool's quality. */
export interface Outcome {
  tool: StoredTool;
  version: ToolVersion;
  input: Record<string, unknown>;
  milliseconds: number;
  error?: CamelError;
}

export interface AsToolOptions {
  env: NodeJS.ProcessEnv;
  toolOf: (name: string) => ToolDef | undefined;
  secret: (name: string) => Promise<string>;
  /** May add to the error what would repair the tool. */
  after: (outcome: Outcome, context: ToolContext) => Promise<string | undefined>;
}

/** Each strategy is loaded when a tool that uses it is first called. */
const ENGINES: Record<StrategyType, () => Promise<Engine>> = {
  shell: async () => (await import("./strategies/shell.ts")).shell,
  http: async () => (await import("./strategies/http.ts")).http,
  llm: async () => (await import("./strategies/llm.ts")).llm,
  composite: async () => (await import("./strategies/composite.ts")).composite,
  js: async () => (await import("./strategies/js.ts")).js,
};

/** The arguments are checked by the tool's own JSON Schema; see `parse`. */
const anyObject = z.object({});

/** A tool that an agent made, as one like any other. Cheap: a thousand of them are made at once. */
export function asTool(stored: StoredTool, options: AsToolOptions, version = activeVersion(stored)): ToolDef {
  const { definition } = version;
  let claims: Claims | undefined;
  const claim = (): Claims => (claims ??= claimsOf(definition, options.toolOf));
  let parser: ((args: unknown) => Record<string, unknown>) | undefined;

  const runOf = (
    input: Record<string, unknown>,
    context: ToolContext,
    signal: AbortSignal,
    used = new Map<string, string>(),
  ): Run => ({
    definition,
    version,
    envelope: version.envelope,
    isApproved: stored.approvedBy === "person" || context.isApproved === true,
    input,
    context,
    signal,
    env: options.env,
    secret: async (name) => {
      const value = await options.secret(name);
      used.set(name, value);
      return value;
    },
  });

  return {
    name: stored.name,
    title: definition.title ?? stored.name.replaceAll("_", " "),
    description: definition.description,
    tier: "core",
    schema: anyObject,
    inputSchema: version.inputSchema,
    parse: (args) => (parser ??= createInputParser(stored.name, version.inputSchema))(args),
    get effect() {
      return claim().effect;
    },
    get destructive() {
      return claim().destructive;
    },
    get idempotent() {
      return claim().idempotent;
    },
    get openWorld() {
      return claim().openWorld;
    },
    maker: version.maker,
    fingerprint: `${version.version} ${version.created}`,

    async touches(input, context) {
      const engine = await ENGINES[definition.strategy.type]();
      const { outside, touches } = await engine.foresee(runOf(input, context, context.signal));
      const beyond = [...outside, ...widening(stored.approved, version.envelope)];
      if (beyond.length > 0) {
        const why = `the call goes beyond what was approved: ${beyond.join("; ")}`;
        return { ...touches, approval: { state: "needed", why } };
      }
      if (stored.approvedBy === "policy") return touches;
      return { ...touches, approval: { state: "given", why: "it was approved when the tool was made" } };
    },

    async execute(input, context) {
      await checkProject(stored, context);
      const engine = await ENGINES[definition.strategy.type]();
      const controller = new AbortController();
      // A script may call many tools at once, and each listens.
      setMaxListeners(0, controller.signal);
      const timer = context.clock.setTimeout(() => {
        controller.abort(
          new CamelError(
            "timeout",
            `${stored.name} took longer than ${definition.timeout_seconds} s and was stopped.`,
            { next: "Ask for less in one call, or update the tool with a larger timeout_seconds." },
          ),
        );
      }, definition.timeout_seconds * 1000);
      const onAbort = (): void => controller.abort(context.signal.reason);
      context.signal.addEventListener("abort", onAbort, { once: true });
      const used = new Map<string, string>();
      const started = context.clock.monotonic();
      const outcome = (): Outcome => ({
        tool: stored,
        version,
        input,
        milliseconds: context.clock.monotonic() - started,
      });
      try {
        const output = await engine.execute(runOf(input, context, controller.signal, used));
        const note = await options.after(outcome(), context);
        return withoutSecrets(
          note === undefined ? output : { ...output, text: `${output.text}\n${note}` },
          used,
        );
      } catch (thrown) {
        const error = errorWithoutSecrets(toCamelError(thrown), used);
        const advice =
          error.code === "cancelled" ? undefined : await options.after({ ...outcome(), error }, context);
        if (advice === undefined) throw error;
        throw new CamelError(error.code, error.message, {
          next: `${error.next ?? ""}\n${advice}`.trim(),
          ...(error.details === undefined ? {} : { details: error.details }),
          cause: error,
        });
      } finally {
        timer.cancel();
        context.signal.removeEventListener("abort", onAbort);
        // Calls that a script started and didn't wait for end with it.
        controller.abort(new CamelError("cancelled", `${stored.name} has ended.`));
      }
    },
  };
}

/** A host that echoes a request, or a program that prints its environment, must not hand the secret to the model. */
function withoutSecrets(output: ToolOutput, used: ReadonlyMap<string, string>): ToolOutput {
  if (used.size === 0) return output;
  return {
    text: hide(output.text, used),
    ...(output.structured === undefined
      ? {}
      : { structured: JSON.parse(hide(JSON.stringify(output.structured), used)) as Record<string, unknown> }),
  };
}

function errorWithoutSecrets(error: CamelError, used: ReadonlyMap<string, string>): CamelError {
  if (used.size === 0) return error;
  return new CamelError(error.code, hide(error.message, used), {
    ...(error.next === undefined ? {} : { next: error.next }),
    ...(error.details === undefined
      ? {}
      : { details: JSON.parse(hide(JSON.stringify(error.details), used)) as Record<string, unknown> }),
  });
}

function hide(text: string, used: ReadonlyMap<string, string>): string {
  let clean = text;
  for (const [name, value] of used) {
    const encoded = encodeURIComponent(value);
    // As in a JSON text, in a path, in a query, and in a query that a form wrote.
    for (const spelling of [
      value,
      JSON.stringify(value).slice(1, -1),
      encoded,
      encoded.replaceAll("'", "%27"),
      new URLSearchParams({ "": value }).toString().slice(1),
    ])
      if (spelling.length >= 4) clean = clean.replaceAll(spelling, `[secret ${name}]`);
  }
  return clean;
}

async function checkProject(stored: StoredTool, context: ToolContext): Promise<void> {
  if (stored.project === undefined || stored.project === (await context.workspace("read"))) return;
  throw new CamelError("unknown_tool", `"${stored.name}" belongs to another project.`, {
    next: "Make it again with scope: global to use it everywhere.",
  });
}
