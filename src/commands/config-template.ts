import { configJsonSchema } from "../config/schema.ts";
import type { Scope } from "./install/hosts.ts";

interface SchemaNode {
  description?: string;
  default?: unknown;
  enum?: readonly unknown[];
  properties?: Record<string, SchemaNode>;
}

/** A workspace file may only narrow the policy; anything else in it is ignored, so it isn't offered. */
const POLICY_KEYS = ["tools", "autonomy", "rules", "scopes", "limits"];

/** By the setting's path; shown where an empty list would tell nothing. */
export const EXAMPLES: Record<string, string> = {
  rules: `- { tool: apply_patch, path: "migrations/**", decision: deny, reason: made by a generator }`,
  clientTools: `- { name: lint, description: Runs the linter., handler: { bash: "npm run lint" } }`,
  "cron.jobs": `- { id: standup, schedule: "0 9 * * 1-5", prompt: Summarise yesterday's commits. }`,
  "limits.tools": `- { tool: "memory_*", rateLimit: { calls: 20, perSeconds: 10 } }`,
  scopes: `- { match: { agent: "review-*" }, autonomy: { level: readonly } }`,
};

const INTRO: Record<Scope, string> = {
  user: `# camel-mcp: your own configuration. It is read again by itself when it changes.
# Every setting is shown with its default. Take the # away in front of a line, and of the lines it stands under.
`,
  project: `# camel-mcp: policy of this workspace. It can only narrow what each user's own configuration allows.
# Every setting is shown with its default. Take the # away in front of a line, and of the lines it stands under.
`,
};

/** Made from the schema, so that it can't tell anything else than what is checked. */
export function configTemplate(scope: Scope): string {
  const { properties = {} } = configJsonSchema() as SchemaNode;
  const sections = Object.entries(properties)
    .filter(([key]) => scope === "user" || POLICY_KEYS.includes(key))
    .map(([key, node]) => `\n${section([key], node)}`);
  return INTRO[scope] + sections.join("");
}

/** Settings are `#`, indentation, text; so without the # they are YAML, and their explanations still comments. */
function section(path: readonly string[], node: SchemaNode): string {
  const depth = path.length - 1;
  const key = path.at(-1) ?? "";
  const example = EXAMPLES[path.join(".")];
  const indent = "  ".repeat(depth);
  const note = (text: string): string => (depth === 0 ? `# ${text}\n` : `#${indent}# ${text}\n`);
  const choices = node.enum === undefined ? "" : ` (${node.enum.map(String).join(", ")})`;
  const about = `${node.description ?? ""}${choices}`.trim();
  const head = (about === "" ? "" : note(about)) + (example === undefined ? "" : note(`Example: ${example}`));
  if (node.default === undefined) {
    const fields = Object.keys(node.properties ?? {});
    return head + note(`${key}: (not set${fields.length === 0 ? "" : `; it has ${fields.join(", ")}`})`);
  }
  if (Object.values(node.properties ?? {}).some((child) => child.default !== undefined)) {
    const inner = Object.entries(node.properties ?? {}).map(([name, child]) =>
      section([...path, name], child),
    );
    return `${head}#${indent}${key}:\n${inner.join("")}`;
  }
  return `${head}#${indent}${key}: ${JSON.stringify(node.default)}\n`;
}
