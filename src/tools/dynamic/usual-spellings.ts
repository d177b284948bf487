import { isObject } from "../../shared/is-object.ts";
import type { StrategyType } from "./definition.ts";

/**
 * Models write `command` for `command_template` and `code` for `source`. What can only be meant one way is taken so;
 * the definition is checked, shown and stored in our own words.
 */
type Fields = Record<string, unknown>;

const TYPES: Record<string, Fields> = {
  bash: { type: "shell" },
  command: { type: "shell" },
  javascript: { type: "js" },
  typescript: { type: "js", language: "ts" },
  ts: { type: "js", language: "ts" },
  prompt: { type: "llm" },
  chain: { type: "composite" },
};

const FIELDS: Record<StrategyType, Record<string, readonly string[]>> = {
  shell: { command_template: ["command", "cmd", "template"], pipeline: ["commands"] },
  http: { url: ["endpoint", "uri", "url_template"], query: ["params"], body: ["data", "json"] },
  llm: { system_prompt: ["prompt", "system", "instructions"] },
  composite: { steps: ["tools", "chain"] },
  js: { source: ["code", "script", "function", "body"] },
};

/** Each says by itself how the tool works. */
const TELLING: Record<StrategyType, readonly string[]> = {
  shell: ["command_template", "command", "cmd", "pipeline", "commands"],
  http: ["url", "endpoint", "uri", "url_template"],
  llm: ["system_prompt", "prompt"],
  composite: ["steps"],
  js: ["source", "code"],
};

/** The type that the fields tell where none is given. */
function tellingType(fields: Fields): string | undefined {
  return Object.entries(TELLING).find(([, names]) => names.some((name) => fields[name] != null))?.[0];
}

/** Whether fields that stand beside each other are a definition: something says how the tool works. */
export function isDefinition(fields: Fields): boolean {
  return isObject(fields["strategy"]) || tellingType(fields) !== undefined;
}

const STEP = {
  tool_name: ["tool", "name"],
  input_override: ["input", "args", "arguments", "input_overrides"],
};
const DEFINITION = { input_schema: ["inputSchema", "parameters", "schema"] };

export function inOurWords(definition: unknown): unknown {
  if (!isObject(definition)) return definition;
  const named = renamed(definition, DEFINITION);
  return {
    ...named,
    ...(named["strategy"] === undefined && named["type"] === undefined && tellingType(named) === undefined
      ? {}
      : { strategy: strategyOf(named) }),
    ...(isObject(named["input_schema"]) ? { input_schema: schemaOf(named["input_schema"]) } : {}),
    ...(Array.isArray(named["examples"]) ? { examples: named["examples"].map(exampleOf) } : {}),
  };
}

/** `strategy: "shell"` with its fields beside it, or `type` without a strategy. */
function strategyOf(definition: Fields): unknown {
  const { strategy } = definition;
  if (strategy !== undefined && typeof strategy !== "string" && !isObject(strategy)) return strategy;
  const fields = isObject(strategy)
    ? strategy
    : { ...definition, strategy: undefined, type: strategy ?? definition["type"] };
  const told = fields["type"] ?? tellingType(fields);
  const type = typeof told === "string" ? told.toLowerCase() : "";
  const known: Fields = { ...fields, type: told, ...(Object.hasOwn(TYPES, type) ? TYPES[type] : {}) };
  const kind = String(known["type"]);
  if (!Object.hasOwn(FIELDS, kind)) return known;
  const named = renamed(known, FIELDS[kind as StrategyType]);
  return {
    ...named,
    ...Object.fromEntries(
      ["query", "headers", "env"].flatMap((name) =>
        isObject(named[name]) ? [[name, withTexts(named[name])]] : [],
      ),
    ),
    ...(kind === "shell" ? { command_template: commandLine(named) } : {}),
    ...(typeof named["method"] === "string" ? { method: named["method"].toUpperCase() } : {}),
    ...(kind === "composite" && Array.isArray(named["steps"]) ? { steps: named["steps"].map(stepOf) } : {}),
  };
}

/** `{limit: 5}` of a query is `{limit: "5"}`. */
function withTexts(fields: Fields): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      typeof value === "number" || typeof value === "boolean" ? String(value) : value,
    ]),
  );
}

/** A program and its arguments as a list, or beside each other, as one line. */
function commandLine({ args, command_template: command }: Fields): unknown {
  const words = [...(Array.isArray(command) ? (command as unknown[]) : []), ...asList(args)];
  if (words.length === 0 || !words.every((word) => typeof word === "string")) return command;
  const line = words.map((word) =>
    /^(?:[\w@%+=:,./-]+|\{\{[^{}]*\}\})$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`,
  );
  return (typeof command === "string" ? [command, ...line] : line).join(" ");
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function stepOf(step: unknown): unknown {
  if (typeof step === "string") return { tool_name: step };
  return isObject(step) ? renamed(step, STEP) : step;
}

/** The properties alone, or without saying that they belong to an object. */
function schemaOf(schema: Fields): Fields {
  if (isObject(schema["properties"]))
    return withRequired({ type: "object", ...schema }, schema["properties"]);
  const isBare = Object.keys(schema).length > 0 && Object.values(schema).every(isObject);
  return isBare
    ? withRequired({ type: "object", required: Object.keys(schema), properties: schema }, schema)
    : schema;
}

/** `required: true` on a parameter, as old drafts had it. */
function withRequired(schema: Fields, properties: Fields): Fields {
  const marked = Object.entries(properties).filter(
    ([, property]) => isObject(property) && typeof property["required"] === "boolean",
  );
  if (marked.length === 0) return schema;
  const listed = Array.isArray(schema["required"]) ? (schema["required"] as unknown[]) : [];
  const wanted = new Set(listed);
  for (const [name, property] of marked) {
    if (isObject(property) && property["required"] === true) wanted.add(name);
    else wanted.delete(name);
  }
  const plain = Object.entries(properties).map(([name, property]) => {
    if (!isObject(property) || typeof property["required"] !== "boolean") return [name, property];
    const { required: _, ...rest } = property;
    return [name, rest];
  });
  return { ...schema, properties: Object.fromEntries(plain) as Fields, required: [...wanted] };
}

function exampleOf(example: unknown): unknown {
  if (!isObject(example)) return example;
  const { expect = example["expected"] ?? example["output"] } = example;
  const isText = ["string", "number", "boolean"].includes(typeof expect);
  return { ...example, ...(isText ? { expect: { contains: String(expect) } } : {}) };
}

/** Only where ours is missing: who wrote both meant ours. */
function renamed(fields: Fields, names: Record<string, readonly string[]>): Fields {
  const ours = { ...fields };
  for (const [name, others] of Object.entries(names)) {
    const other = others.find((one) => fields[one] !== undefined);
    if (fields[name] === undefined && other !== undefined) ours[name] = fields[other];
  }
  return ours;
}
