/** What a host offered the model in its first turn, compared with what the server lists. */
import { readFileSync } from "node:fs";

/** `log` is the scripted model's, one request a line; `listed` is what `camel-mcp tools list --json --with-schema` says. */
export function offeredTools(log, listed) {
  const first = requests(log).find((tools) => tools.length > 0) ?? [];
  // These hosts name a server's tools in a text and let the model look up the rest.
  if (first.some(({ name }) => name === "tool_call")) return { ok: true, says: "tools on demand" };
  const faults = listed.flatMap((tool) => {
    const seen = first.find(({ name }) => name === tool.name || name.endsWith(tool.name));
    if (seen === undefined) return [`${tool.name} not offered in the first turn`];
    const missing = Object.keys(tool.inputSchema.properties).filter((key) => !(key in seen.parameters));
    return [
      ...(missing.length === 0 ? [] : [`${tool.name} without ${missing.join(", ")}`]),
      ...(seen.description.includes(tool.description.trim()) ? [] : [`${tool.name}'s description changed`]),
    ];
  });
  return { ok: faults.length === 0, says: faults.join(", ") || `${listed.length} tools offered` };
}

function requests(log) {
  return readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ raw }) => raw !== undefined)
    .map(({ body }) => (body.tools ?? []).flatMap(flatten));
}

/** Anthropic, OpenAI (chat, responses, Codex's namespaces) and Gemini each say it their own way. */
function flatten(tool) {
  if (tool.functionDeclarations !== undefined) return tool.functionDeclarations.flatMap(flatten);
  if (tool.type === "namespace") return tool.tools.flatMap(flatten);
  if (tool.function !== undefined) return flatten(tool.function);
  const schema = tool.input_schema ?? tool.parameters ?? tool.parametersJsonSchema;
  return [
    {
      name: tool.name ?? tool.type,
      description: tool.description ?? "",
      parameters: schema?.properties ?? {},
    },
  ];
}
