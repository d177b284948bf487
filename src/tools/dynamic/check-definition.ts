import { CamelError, messageOf } from "../../shared/errors.ts";
import type { ToolDef } from "../tool.ts";
import type { Definition, StrategyOf } from "./definition.ts";
import { commandTemplates, hostPart } from "./envelope.ts";
import { createInputParser, inputSchemaProblems, propertiesOf, requiredOf } from "./json-schema.ts";
import { pinProgram, type ProgramPin } from "./program.ts";
import { stepId } from "./strategies/composite.ts";
import { placeholdersIn, placeholdersInJson } from "./template.ts";
import { needsArguments, textParameter } from "./text-parameter.ts";

/** What a definition is checked against. */
export interface World {
  env: NodeJS.ProcessEnv;
  workspace: string;
  /** The tool of that name as the maker sees it. */
  tool(name: string): ToolDef | undefined;
  /** The tools that a dynamic tool of that name calls. */
  callsOf(name: string): readonly string[];
}

export interface CheckedDefinition {
  definition: Definition;
  inputSchema: Record<string, unknown>;
  pins: ProgramPin[];
}

/** Everything that can be known to be wrong is said when the tool is made, not when it is first called. */
export async function checkDefinition(definition: Definition, world: World): Promise<CheckedDefinition> {
  const { strategy } = definition;
  const inputSchema = definition.input_schema ?? derivedSchema(definition, world);
  const problems = inputSchemaProblems(inputSchema);
  if (strategy.type === "shell") problems.push(...shellProblems(definition, strategy, inputSchema));
  if (strategy.type === "http") problems.push(...httpProblems(definition, strategy, inputSchema));
  if (strategy.type === "composite")
    problems.push(...compositeProblems(definition, strategy, inputSchema, world));
  if (strategy.type === "js") problems.push(...toolListProblems(definition.name, strategy.tools, world));
  if (problems.length > 0) throw refused(problems);
  const parse = createInputParser(definition.name, inputSchema);
  for (const [index, example] of definition.examples.entries()) {
    if (example.expect?.error === true) continue;
    try {
      parse(example.input);
    } catch (error) {
      const why = messageOf(error);
      problems.push(`examples[${index}]: ${why.replace(/\.$/, "")}`);
    }
  }
  if (problems.length > 0) throw refused(problems);
  if (strategy.type === "js") {
    const { checkSource } = await import("./strategies/js.ts");
    await checkSource(strategy);
  }
  const pins =
    strategy.type === "shell"
      ? await Promise.all(
          commandTemplates(definition).map(([program]) =>
            pinProgram(program !== undefined && "text" in program ? program.text : "", {
              env: world.env,
              workspace: world.workspace,
              hash: strategy.pin_hash,
            }),
          ),
        )
      : [];
  return { definition, inputSchema, pins };
}

function refused(problems: readonly string[]): CamelError {
  return new CamelError("invalid_input", `The definition can't be used: ${problems.join("; ")}.`, {
    next: "Correct this and send the whole definition again.",
    details: { problems: [...problems] },
  });
}

/** The input where the definition says nothing: one text, or one text for each placeholder. */
function derivedSchema(definition: Definition, world: World): Record<string, unknown> {
  const names = inputNames(definition);
  return {
    type: "object",
    properties: Object.fromEntries(
      names.map((name) => [name, { type: "string", description: `The ${name}.` }]),
    ),
    required: usesItsInput(definition, world) ? names : [],
  };
}

/** A source that never says "input" works without one, and so does a chain whose first tool needs none. */
function usesItsInput({ strategy }: Definition, world: World): boolean {
  if (strategy.type === "js") return /\binput\b/.test(strategy.source);
  if (strategy.type !== "composite") return true;
  const [first, ...rest] = strategy.steps;
  if (first === undefined || first.input_override !== undefined) return true;
  const usesIt = placeholdersInJson(rest.map((step) => step.input_override)).some(
    (name) => name !== "prev" && !name.startsWith("steps."),
  );
  const tool = world.tool(first.tool_name);
  return usesIt || tool === undefined || needsArguments(tool);
}

function inputNames(definition: Definition): string[] {
  const { strategy } = definition;
  switch (strategy.type) {
    case "shell":
      return placeholdersInJson(strategy.pipeline ?? strategy.command_template ?? "");
    case "http": {
      const { body, headers, method, query, url } = strategy;
      const names = placeholdersInJson([url, headers, query, body]);
      const sendsInput = body === undefined && method !== "GET" && method !== "HEAD" && method !== "DELETE";
      return sendsInput && !names.includes("input") ? [...names, "input"] : names;
    }
    case "composite": {
      const named = placeholdersInJson(strategy.steps.map((step) => step.input_override))
        .filter((name) => name !== "prev" && !name.startsWith("steps."))
        .map((name) =>
          name.startsWith("input.") ? (name.split(".")[1] ?? "input") : (name.split(".")[0] ?? name),
        );
      const names = [...new Set(named)];
      return names.length === 0 && strategy.steps[0]?.input_override !== undefined
        ? []
        : names.length === 0
          ? ["input"]
          : names;
    }
    case "llm":
    case "js":
      return ["input"];
  }
}

/** A program must not be made to load something by a variable that looks like a harmless setting. */
const DANGEROUS_VARIABLE =
  /^(?:PATH|LD_.*|DYLD_.*|GCONV_PATH|BASH_.*|ENV|IFS|PS4|PROMPT_COMMAND|SHELLOPTS|CDPATH|GLOBIGNORE|PYTHON.*|PERL.*|RUBY.*|GEM_.*|NODE_.*|NPM_.*|JAVA_.*|JDK_.*|_JAVA_.*|CLASSPATH|PHP.*|LUA_.*|GIT_.*|SSH_.*|EDITOR|VISUAL|PAGER|MANPAGER|LESS.*|BROWSER|SHELL|MAKEFLAGS|GREP_OPTIONS|TAR_OPTIONS|RSYNC_.*|CURL_HOME|WGETRC|OPENSSL_.*|MALLOC_.*|GLIBC_.*|HOME|TERMINFO.*|CAMEL.*)$/i;

function shellProblems(
  definition: Definition,
  strategy: StrategyOf<"shell">,
  schema: Record<string, unknown>,
): string[] {
  const problems: string[] = [];
  if ((strategy.command_template === undefined) === (strategy.pipeline === undefined))
    return ["strategy: give either command_template or pipeline"];
  const used: string[] = [];
  for (const [first, ...rest] of commandTemplates(definition)) {
    if (first === undefined) problems.push("strategy: a command is empty");
    else if (!("text" in first) || first.text === "")
      problems.push("strategy: the program has to be written out, it can't be a placeholder");
    else if (/[=]/.test(first.text))
      problems.push(`strategy: "${first.text}" is not a program; variables go into env`);
    else if (first.text.startsWith("-")) problems.push(`strategy: "${first.text}" is not a program`);
    used.push(...rest.flatMap((token) => ("placeholder" in token ? [token.placeholder] : [])));
  }
  if (/secret:\/\//.test(JSON.stringify(strategy.pipeline ?? strategy.command_template)))
    problems.push("strategy: other users can see a program's arguments; put secrets into env");
  problems.push(...placeholderProblems(used, schema), ...unusedProblems(used, schema));
  if (used.length === 0)
    for (const token of commandTemplates(definition).flat())
      if ("text" in token && NEARLY_PLACEHOLDER.test(token.text))
        problems.push(`strategy: "${token.text}" is no placeholder; write {{input}}`);
  for (const name of used) {
    const type = propertiesOf(schema)[name]?.["type"];
    if (type !== undefined && !SCALARS.includes(type))
      problems.push(
        `{{${name}}} becomes one argument, so its type has to be string, number, integer or boolean`,
      );
  }
  for (const name of strategy.dash_values)
    if (!used.includes(name)) problems.push(`strategy.dash_values: there is no {{${name}}}`);
  for (const name of [...Object.keys(strategy.env), ...strategy.inherit_env]) {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,100}$/.test(name))
      problems.push(`strategy.env: "${name}" is not a variable's name`);
    else if (DANGEROUS_VARIABLE.test(name))
      problems.push(`strategy.env: ${name} can make a program run something else and isn't accepted`);
  }
  for (const [name, value] of Object.entries(strategy.env)) {
    if (value.includes("\0")) problems.push(`strategy.env.${name}: contains a NUL character`);
    if (placeholdersIn(value).length > 0)
      problems.push(`strategy.env.${name}: values can't have placeholders`);
  }
  return problems;
}

/** How other systems write the value of a call. */
const NEARLY_PLACEHOLDER = /^(?:\{(?:input|file|path|text|query|url)\}|\$(?:\d|@|\*|\{?input\}?))$/;

/** A parameter that goes nowhere is one whose placeholder is misspelt. */
function unusedProblems(used: readonly string[], schema: Record<string, unknown>): string[] {
  return Object.keys(propertiesOf(schema))
    .filter((name) => !used.includes(name))
    .map((name) => `the parameter "${name}" isn't used: write {{${name}}} where its value belongs`);
}

const SCALARS: readonly unknown[] = ["string", "number", "integer", "boolean"];

function placeholderProblems(used: readonly string[], schema: Record<string, unknown>): string[] {
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  return [...new Set(used)].flatMap((name) => {
    const property = properties[name];
    if (property === undefined) return [`{{${name}}} is not a parameter of input_schema`];
    return required.includes(name) || "default" in property
      ? []
      : [`"${name}" has to be required, or have a default, because the template always needs it`];
  });
}

function httpProblems(
  definition: Definition,
  strategy: StrategyOf<"http">,
  schema: Record<string, unknown>,
): string[] {
  const problems = placeholderProblems(
    placeholdersInJson([strategy.url, strategy.headers, strategy.query, strategy.body]).map(
      (name) => name.split(".")[0] ?? name,
    ),
    schema,
  );
  const single = /(?<!\{)\{(\w+)\}(?!\})/.exec(strategy.url);
  if (single !== null) problems.push(`strategy.url: ${single[0]} is no placeholder; write {{${single[1]}}}`);
  const origin = hostPart(strategy.url);
  if (!/^https?:\/\//i.test(strategy.url))
    problems.push("strategy.url: has to begin with http:// or https://");
  else if (placeholdersIn(origin).length > 0) {
    if (!/^https?:\/\/(?:\{\{\s*\w+\s*\}\}|[\w.-])+(?::\d+)?$/i.test(origin))
      problems.push("strategy.url: only the host may have placeholders before the path");
    if ((definition.envelope.hosts ?? []).length === 0)
      problems.push("envelope.hosts: say which hosts the placeholder in the host may stand for");
  } else if (!URL.canParse(origin)) problems.push("strategy.url: is not a URL");
  else if (new URL(origin).username !== "" || new URL(origin).password !== "")
    problems.push("strategy.url: put credentials into a header as secret://name, not into the URL");
  for (const [name, value] of Object.entries(strategy.headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      problems.push(`strategy.headers: "${name}" is not a header's name`);
    else if (
      /^(?:host|content-length|transfer-encoding|connection|upgrade|te|trailer|expect|proxy-.*)$/i.test(name)
    )
      problems.push(`strategy.headers: ${name} is set by the client itself`);
    if (/[\r\n\0]/.test(value)) problems.push(`strategy.headers.${name}: contains a line break`);
  }
  return problems;
}

function compositeProblems(
  definition: Definition,
  strategy: StrategyOf<"composite">,
  schema: Record<string, unknown>,
  world: World,
): string[] {
  const problems = toolListProblems(
    definition.name,
    strategy.steps.map((step) => step.tool_name),
    world,
  );
  const earlier: string[] = [];
  const properties = propertiesOf(schema);
  for (const [index, step] of strategy.steps.entries()) {
    const where = `strategy.steps[${index}]`;
    const id = stepId(strategy, index);
    for (const name of placeholdersInJson(step.input_override)) {
      const [head = "", second = ""] = name.split(".");
      if (head === "steps" && !earlier.includes(second))
        problems.push(
          `${where}: {{${name}}} names no earlier step (${earlier.join(", ") || "there is none"})`,
        );
      else if (head !== "steps" && name !== "prev" && name !== "input") {
        const parameter = head === "input" ? second : head;
        if (!(parameter in properties))
          problems.push(`${where}: {{${name}}} is not a parameter of input_schema`);
      }
    }
    const tool = world.tool(step.tool_name);
    if (tool !== undefined && typeof step.input_override !== "object" && textParameter(tool) === undefined)
      problems.push(
        `${where}: ${step.tool_name} has no single text parameter; give input_override as an object`,
      );
    if (earlier.includes(id)) problems.push(`${where}: two steps are called "${id}"; give one an id`);
    earlier.push(id);
  }
  return problems;
}

/** Tools that are called must exist, and none of them may lead back here. */
function toolListProblems(name: string, called: readonly string[], world: World): string[] {
  const problems: string[] = [];
  for (const tool of new Set(called)) {
    if (tool === "tool_create") problems.push("a tool can't call tool_create");
    else if (tool !== name && world.tool(tool) === undefined) problems.push(`there is no tool "${tool}"`);
  }
  const seen = new Set<string>();
  const leadsBack = (tool: string): boolean => {
    if (tool === name) return true;
    if (seen.has(tool)) return false;
    seen.add(tool);
    return world.callsOf(tool).some(leadsBack);
  };
  const loop = called.find(leadsBack);
  if (loop !== undefined) problems.push(`calling "${loop}" leads back to "${name}"`);
  return problems;
}
