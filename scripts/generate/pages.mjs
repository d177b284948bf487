/** The generated pages, each a pure function from what the library exports to text. */
const NOTE = "<!-- Made by `npm run generate`. Don't edit by hand. -->\n";

export function toolsTable(tools) {
  const rows = tools.map(
    (tool) =>
      `| [\`${tool.name}\`](docs/tools.md#${tool.name}) | ${tool.tier} | ${tool.effect} | ${cell(firstSentence(tool.public.description))} |`,
  );
  return `| Tool | Tier | Effect | What it does |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

export function toolsPage(tools) {
  const parts = tools.map((tool) => {
    const { title, description, inputSchema, outputSchema, annotations } = tool.public;
    const hints = Object.entries(annotations)
      .filter(([, value]) => value === true)
      .map(([name]) => `\`${name}\``);
    return [
      `## ${tool.name}`,
      `${title}. Tier \`${tool.tier}\`, effect \`${tool.effect}\`${hints.length === 0 ? "" : `, ${hints.join(", ")}`}.`,
      `\`\`\`text\n${description}\n\`\`\``,
      "Parameters:",
      parameters(inputSchema),
      ...(outputSchema === undefined ? [] : ["Structured result:", parameters(outputSchema)]),
    ].join("\n\n");
  });
  return `# Tools

${NOTE}
What a host sees of each tool. \`core\` tools are always there, \`extended\` ones by default, \`full\` ones with
\`tools.tier: full\`. Policy decides on the effect, never on the name; see [config.md](config.md).

${parts.join("\n\n")}
`;
}

export function configPage(schema) {
  const parts = Object.entries(schema.properties).map(([key, section]) => {
    const head = section.description === undefined ? [] : [section.description];
    const nested = section.properties ?? section.items?.properties;
    const table = nested === undefined ? keys({ [key]: section }, "") : keys(nested, pathOf(key, section));
    return [`## ${key}`, ...head, table].join("\n\n");
  });
  return `# Configuration

${NOTE}
Read from \`~/.camelagi/config.yaml\` (\`--home\`, \`CAMELAGI_HOME\` or \`--config\` move it), then from
\`<workspace>/.camelagi/config.yaml\`. The second comes with a repository, so it may only narrow. Unknown keys are
refused. A change counts at the next call; a broken edit leaves the last good one in force. For completion in an
editor, put the path of the schema on the first line. In a project that has camel-mcp installed:

\`\`\`yaml
# yaml-language-server: $schema=../node_modules/camel-mcp/dist/config.schema.json
\`\`\`

Some hosts pass on neither a folder nor most variables, so what comes before any file can be given either way. A flag
wins over the environment.

| Flag | Environment | |
|---|---|---|
| \`--workspace DIR\` | \`CAMEL_WORKSPACE\` | Where file tools work. Else \`CLAUDE_PROJECT_DIR\`, the first folder that the client says is open, the current folder. |
| \`--memory-root DIR\` | \`CAMEL_MEMORY_ROOT\` | Folder with MEMORY.md and memory/. Else \`memory.root\`, the workspace. |
| \`--agent ID\` | \`CAMELAGI_AGENT\` | Whose memory and policy. Default: main. |
| \`--config FILE\` | \`CAMEL_CONFIG\` | The user's config file. It must be there. |
| \`--home DIR\` | \`CAMELAGI_HOME\` | State directory. Default: ~/.camelagi. |
| \`--log-level LEVEL\` | \`CAMEL_LOG_LEVEL\` | silent, error, warn, info or debug; to stderr. Default: warn. |

${parts.join("\n\n")}
`;
}

export function errorsPage(codes, meanings) {
  const rows = Object.entries(codes).map(
    ([code, { retryable }]) =>
      `| \`${code}\` | ${retryable ? "yes" : "no"} | ${cell(meanings[code] ?? "")} |`,
  );
  return `# Error codes

${NOTE}
Every refusal and failure carries one of these codes, a sentence that says what was wrong, and the next step. Tool
errors are results with \`isError\`, so that the model reads them. "Retry" says whether the very same call may
succeed later.

| Code | Retry | Meaning |
|---|---|---|
${rows.join("\n")}
`;
}

function parameters(schema) {
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length === 0) return "None.";
  const required = new Set(schema.required);
  const rows = entries.map(
    ([name, property]) =>
      `| \`${name}\` | ${cell(typeOf(property))} | ${required.has(name) ? "yes" : "no"} | ${cell(property.description ?? "")} |`,
  );
  return `| Name | Type | Required | |\n|---|---|---|---|\n${rows.join("\n")}`;
}

function keys(properties, prefix) {
  return `| Key | Type | Default | |\n|---|---|---|---|\n${keyRows(properties, prefix).join("\n")}`;
}

function keyRows(properties, prefix) {
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = pathOf(prefix === "" ? name : `${prefix}.${name}`, property);
    const nested = property.properties ?? property.items?.properties;
    const own = `| \`${path}\` | ${cell(typeOf(property))} | ${defaultOf(property)} | ${cell(property.description ?? "")} |`;
    return nested === undefined ? [own] : [own, ...keyRows(nested, path)];
  });
}

function pathOf(path, schema) {
  return schema.items?.properties === undefined ? path : `${path}[]`;
}

function defaultOf({ default: value }) {
  // The default of a whole section is made of the defaults of its keys.
  return value === undefined || JSON.stringify(value) === "{}" ? "" : `\`${JSON.stringify(value)}\``;
}

function typeOf(schema) {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined)
    return schema.enum
      .filter((one) => one !== null)
      .map(String)
      .join(", ");
  if (schema.anyOf !== undefined)
    return schema.anyOf
      .filter((one) => one.type !== "null")
      .map(typeOf)
      .join(" or ");
  const type = [schema.type ?? "any"].flat().filter((one) => one !== "null");
  return type[0] === "array" ? `list of ${typeOf(schema.items ?? {})}` : type.join(" or ");
}

function firstSentence(text) {
  return /^[\s\S]*?[.:](?=\s|$)/.exec(text)?.[0].replace(/:$/, ".") ?? text;
}

function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll("\n", " ");
}
