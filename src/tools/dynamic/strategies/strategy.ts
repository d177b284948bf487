import type { ToolContext } from "../../context.ts";
import type { ToolOutput, Touches } from "../../tool.ts";
import type { Definition } from "../definition.ts";
import type { Envelope } from "../envelope.ts";
import type { ToolVersion } from "../stored.ts";

export interface Run {
  definition: Definition;
  version: ToolVersion;
  /** What this version was approved to do. */
  envelope: Envelope;
  /** Whether a person approved that, and so what the tool calls; else policy judges each of its calls. */
  isApproved: boolean;
  input: Record<string, unknown>;
  context: ToolContext;
  /** Aborted when the caller goes or the tool's own time is over. */
  signal: AbortSignal;
  env: NodeJS.ProcessEnv;
  /** The value of `secret://name`. */
  secret: (name: string) => Promise<string>;
}

/** What a call would touch, and what of it lies outside the approved envelope, in words. */
export interface Foreseen {
  touches: Touches;
  outside: string[];
}

/** One way for a tool to work. `foresee` is asked before policy, `execute` after. */
export interface Engine {
  foresee(run: Run): Promise<Foreseen>;
  execute(run: Run): Promise<ToolOutput>;
}

const PART = /\{\{\s*([A-Za-z_][\w.[\]-]*)\s*\}\}|secret:\/\/([A-Za-z0-9_.-]{1,64})/g;

/**
 * Fills placeholders and secrets of a template in one pass: a value that happens to read `secret://x` or `{{x}}`
 * is only text. `encode` makes values safe for their place; secrets are encoded the same way.
 */
export async function fillTemplate(
  template: string,
  run: Pick<Run, "secret">,
  value: (name: string) => string,
  encode: (value: string) => string = (one) => one,
): Promise<string> {
  let filled = "";
  let end = 0;
  for (const match of template.matchAll(PART)) {
    const [whole, name, secret] = match;
    filled += template.slice(end, match.index);
    filled += encode(secret === undefined ? value(name ?? "") : await run.secret(secret));
    end = match.index + whole.length;
  }
  return filled + template.slice(end);
}
