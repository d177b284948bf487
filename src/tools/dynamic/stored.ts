import type { Identity } from "../context.ts";
import type { Definition } from "./definition.ts";
import type { Envelope } from "./envelope.ts";
import type { ProgramPin } from "./program.ts";

/** One version of a tool: the definition as sent, and what was found out when it was made. */
export interface ToolVersion {
  version: number;
  created: string;
  origin: "create" | "update" | "import" | "repair" | "variant";
  /** How many repairs by a runner led here; capped, so that nothing repairs itself for ever. */
  generation: number;
  definition: Definition;
  inputSchema: Record<string, unknown>;
  /** Who wrote it; the tool has their rights while this version is active. */
  maker: Identity;
  pins: ProgramPin[];
  envelope: Envelope;
  /** Of the source of a js tool; checked whenever it is loaded. */
  sha256?: string;
}

export interface StoredTool {
  name: string;
  scope: Definition["scope"];
  /** The workspace of a tool with `scope: project`. */
  project?: string;
  created: string;
  active: number;
  versions: ToolVersion[];
  /** All that was ever approved; a version that needs more isn't active before that is approved too. */
  approved: Envelope;
  /** Whether a person or a rule of theirs approved that, or policy had simply nothing against it. */
  approvedBy: "person" | "policy";
  /** What happened by itself, newest last: rollbacks, repairs. */
  notes: string[];
}

export const MOST_VERSIONS = 20;

export function activeVersion(tool: StoredTool): ToolVersion {
  const found = tool.versions.find((one) => one.version === tool.active) ?? tool.versions.at(-1);
  if (found === undefined) throw new Error(`${tool.name} has no version`);
  return found;
}

/** The tools that this one calls. */
export function callsOf(stored: StoredTool): readonly string[] {
  const { strategy } = activeVersion(stored).definition;
  if (strategy.type === "composite") return strategy.steps.map((step) => step.tool_name);
  return strategy.type === "js" ? strategy.tools : [];
}
