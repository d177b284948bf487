import { isAbsolute, normalize, resolve } from "node:path";
import { isInside } from "../../shared/paths.ts";
import { outsideSpellings } from "./argument-spellings.ts";
import { judgeArgv, type ShellPolicy } from "./command-policy.ts";
import { withoutCredentials } from "./credentials.ts";
import type { Definition, Sandbox } from "./definition.ts";
import type { ProgramPin } from "./program.ts";
import { placeholdersIn, tokenizeTemplate, type Token } from "./template.ts";
import { textArguments } from "./text-arguments.ts";

/**
 * All that a tool can do, as a person approves it: once, when it is made. Calls inside need no second approval, a
 * new version that stays inside neither.
 */
export interface Envelope {
  /** Whole commands with their placeholders; for programs that need no approval only the program. */
  commands: string[];
  programs: string[];
  /** `GET https://api.example.com`; a host with a placeholder is covered by `hosts`. */
  requests: string[];
  hosts: string[];
  /** Absolute, or relative to the workspace of the call. */
  read: string[];
  write: string[];
  tools: string[];
  secrets: string[];
  env: string[];
  network: boolean;
  model: boolean;
  sandbox: Sandbox;
}

const SECRET = /secret:\/\/([A-Za-z0-9_.-]{1,64})/g;

function secretsIn(value: unknown): string[] {
  return [...new Set([...JSON.stringify(value ?? "").matchAll(SECRET)].map((match) => match[1] ?? ""))];
}

export function commandTemplates(definition: Definition): Token[][] {
  const { strategy } = definition;
  if (strategy.type !== "shell") return [];
  return (strategy.pipeline ?? [strategy.command_template ?? ""]).map(tokenizeTemplate);
}

/** The words of a command as far as they are known before a call. */
export function argvOf(tokens: readonly Token[]): string[] {
  return tokens.map((token) => ("text" in token ? token.text : `{{${token.placeholder}}}`));
}

export function envelopeOf(
  definition: Definition,
  pins: readonly ProgramPin[],
  policy: ShellPolicy,
): Envelope {
  const { envelope, strategy } = definition;
  const empty: Envelope = {
    commands: [],
    programs: [],
    requests: [],
    hosts: envelope.hosts ?? [],
    read: [],
    write: [],
    tools: [],
    secrets: secretsIn(strategy),
    env: [],
    network: false,
    model: false,
    sandbox: definition.sandbox,
  };
  switch (strategy.type) {
    case "shell": {
      const templates = commandTemplates(definition);
      const paths = envelope.paths ?? { read: ["."], write: [] };
      // What the template itself names is a part of what is approved.
      const named = templates
        .flatMap((tokens) => {
          const text = textArguments(argvOf(tokens));
          return tokens.filter((_, index) => index > 0 && !text.has(index));
        })
        .flatMap((token) => ("text" in token ? outsideSpellings(token.text) : []));
      return {
        ...empty,
        commands: templates.map((tokens) => {
          const argv = shownWords(tokens, strategy.dash_values);
          return judgeArgv(argv, policy).decision === "allow"
            ? (argv[0] ?? "")
            : `${showCommand(argv)}${strategy.cwd === undefined ? "" : ` in ${strategy.cwd}`}`;
        }),
        programs: pins.map((pin) => pin.path),
        read: [...new Set([...paths.read, ...named].map(normalize))],
        write: [...new Set(paths.write.map(normalize))],
        env: variablesOf(definition),
        network: envelope.network ?? false,
      };
    }
    case "http": {
      const host = hostPart(strategy.url);
      const fixed = placeholdersIn(host).length === 0;
      return {
        ...empty,
        requests: [`${strategy.method} ${fixed ? host : "(hosts below)"}`],
        // Those named besides are where it may be redirected to.
        hosts: fixed ? [...new Set([hostName(host), ...empty.hosts])] : empty.hosts,
        network: true,
      };
    }
    case "llm":
      return { ...empty, model: true };
    case "composite":
      return { ...empty, tools: [...new Set(strategy.steps.map((step) => step.tool_name))] };
    case "js":
      return { ...empty, tools: [...new Set(strategy.tools)] };
  }
}

/** With their values: the same name with another value, or with the server's own, is something else. */
function variablesOf(definition: Definition): string[] {
  const { strategy } = withoutCredentials(definition);
  if (strategy.type !== "shell") return [];
  return [
    ...strategy.inherit_env.map((name) => `${name} of the server`),
    ...Object.entries(strategy.env).map(([name, value]) => `${name}=${value}`),
  ];
}

/** A placeholder whose value may be an option is shown as `{{-name}}`. */
function shownWords(tokens: readonly Token[], dashValues: readonly string[]): string[] {
  return tokens.map((token) =>
    "text" in token
      ? token.text
      : `{{${dashValues.includes(token.placeholder) ? "-" : ""}${token.placeholder}}}`,
  );
}

/** Scheme, host and port of a URL template. */
export function hostPart(url: string): string {
  return /^[a-z]+:\/\/[^/?#]*/i.exec(url)?.[0] ?? url;
}

function hostName(origin: string): string {
  try {
    return new URL(origin).hostname;
  } catch {
    return origin;
  }
}

/** All that either may do. */
export function union(one: Envelope, other: Envelope): Envelope {
  const both = (a: readonly string[], b: readonly string[]): string[] => [...new Set([...a, ...b])];
  const weakest = (["off", "best-effort", "required"] as const).find(
    (level) => one.sandbox === level || other.sandbox === level,
  );
  return {
    commands: both(one.commands, other.commands),
    programs: both(one.programs, other.programs),
    requests: both(one.requests, other.requests),
    hosts: both(one.hosts, other.hosts),
    read: both(one.read, other.read),
    write: both(one.write, other.write),
    tools: both(one.tools, other.tools),
    secrets: both(one.secrets, other.secrets),
    env: both(one.env, other.env),
    network: one.network || other.network,
    model: one.model || other.model,
    sandbox: weakest ?? "required",
  };
}

/** What `after` may do that `before` may not, in words; empty where it stays inside. */
export function widening(before: Envelope, after: Envelope): string[] {
  const reasons: string[] = [];
  const lists = {
    commands: "runs",
    programs: "uses the program",
    requests: "sends",
    hosts: "reaches",
    tools: "calls",
    secrets: "uses the secret",
    env: "passes on the variable",
  } as const;
  for (const key of Object.keys(lists) as (keyof typeof lists)[]) {
    for (const item of after[key]) if (!before[key].includes(item)) reasons.push(`it ${lists[key]} ${item}`);
  }
  const covered = (path: string, folders: readonly string[]): boolean =>
    folders.some((folder) => isAbsolute(folder) === isAbsolute(path) && isInside(folder, path));
  for (const path of after.read)
    if (!covered(path, [...before.read, ...before.write])) reasons.push(`it reads ${path}`);
  for (const path of after.write) if (!covered(path, before.write)) reasons.push(`it writes ${path}`);
  if (after.network && !before.network) reasons.push("it uses the network");
  if (after.model && !before.model) reasons.push("it asks the model");
  const strength: Record<Sandbox, number> = { off: 0, "best-effort": 1, required: 2 };
  if (strength[after.sandbox] < strength[before.sandbox])
    reasons.push(`its sandbox is ${after.sandbox} instead of ${before.sandbox}`);
  return reasons;
}

/** Why a person has to approve it; empty where policy already allows all of it. */
export function approvalReasons(
  envelope: Envelope,
  definition: Definition,
  world: { workspace: string; shell: ShellPolicy; untrusted: boolean },
): string[] {
  const reasons: string[] = [];
  for (const tokens of commandTemplates(definition)) {
    const argv = argvOf(tokens);
    const verdict = judgeArgv(argv, world.shell);
    if (verdict.decision !== "allow") reasons.push(`it runs ${showCommand(argv)} (${verdict.why})`);
  }
  if (definition.strategy.type === "shell") {
    for (const name of definition.strategy.inherit_env)
      reasons.push(`it gets the variable ${name} of the server`);
    for (const [name, value] of Object.entries(definition.strategy.env))
      if (!HARMLESS_VARIABLE.test(name) || /[/\\]/.test(value))
        reasons.push(`it sets the variable ${name}, which can change what the program does`);
  }
  for (const name of envelope.secrets) reasons.push(`it uses the secret "${name}"`);
  const outside = (path: string): boolean => !isInside(world.workspace, resolve(world.workspace, path));
  for (const path of envelope.read)
    if (outside(path)) reasons.push(`it reads ${path}, outside the workspace`);
  for (const path of envelope.write) reasons.push(`it writes ${path}`);
  if (definition.strategy.type === "shell" && envelope.network)
    reasons.push("its program may use the network");
  if (envelope.hosts.includes("*")) reasons.push("it may reach any host");
  // Nobody here wrote it, so nobody here meant it to do any of this.
  if (world.untrusted) {
    for (const request of envelope.requests) reasons.push(`it sends ${request}`);
    for (const tool of envelope.tools) reasons.push(`it calls ${tool}`);
    if (envelope.model) reasons.push("it asks the model");
  }
  return reasons;
}

/** How a program prints. Any other variable may name a file or a program that it loads. */
const HARMLESS_VARIABLE =
  /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|TERM|NO_COLOR|CLICOLOR|FORCE_COLOR|COLUMNS|LINES|CI)$/;

function showCommand(argv: readonly string[]): string {
  return argv.map((word) => (/^[\w@%+=:,./{}()-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

/** The text a person is shown before the tool is made. */
export function card(
  definition: Definition,
  envelope: Envelope,
  before?: { version: number; definition: Definition; envelope: Envelope },
): string {
  const { strategy } = definition;
  const lines = [
    before === undefined
      ? `Make the tool "${definition.name}" (${strategy.type}, ${definition.scope})`
      : `Change the tool "${definition.name}" from version ${before.version} (${strategy.type}, ${definition.scope})`,
  ];
  const list = (title: string, items: readonly string[]): void => {
    if (items.length > 0) lines.push(`${title}: ${items.map(oneLine).join(", ")}`);
  };
  if (strategy.type === "shell") {
    const where = strategy.cwd === undefined ? "" : ` in ${strategy.cwd}`;
    for (const tokens of commandTemplates(definition))
      lines.push(`Runs: ${showCommand(shownWords(tokens, strategy.dash_values))}${where}`);
  }
  if (strategy.type === "http") lines.push(`Sends: ${strategy.method} ${oneLine(strategy.url)}`);
  if (strategy.type === "llm") lines.push(`Asks the model: ${oneLine(strategy.system_prompt)}`);
  if (strategy.type === "js")
    lines.push(
      `Runs in a sandbox without files or network: ${strategy.source.length} characters of ${strategy.language}`,
    );
  if (strategy.type === "composite")
    lines.push(`Steps: ${strategy.steps.map((step) => step.tool_name).join(" -> ")}`);
  list("Programs", envelope.programs);
  list("Hosts", envelope.hosts);
  list("May read", envelope.read);
  list("May write", envelope.write);
  list("Calls the tools", envelope.tools);
  list("Secrets", envelope.secrets);
  list("Variables", envelope.env);
  if (strategy.type === "shell")
    lines.push(`Sandbox: ${envelope.sandbox}${envelope.network ? ", with network" : ", without network"}`);
  const [example] = definition.examples;
  if (example !== undefined) lines.push(`Example: ${oneLine(JSON.stringify(example.input))}`);
  if (before !== undefined) {
    const wider = widening(before.envelope, envelope);
    lines.push(wider.length === 0 ? "It may do no more than before." : `New: ${wider.join("; ")}.`);
    lines.push(...changedFields(before.definition, definition));
  }
  // Last, and on one line: what a maker says about the tool must not push out or imitate what it does.
  lines.push(`Its maker says: ${oneLine(definition.description)}`);
  return lines.join("\n");
}

function oneLine(text: string): string {
  const flat = text.replaceAll(/\s+/g, " ");
  return flat.length > 300 ? `${flat.slice(0, 300)}…` : flat;
}

function changedFields(before: Definition, after: Definition): string[] {
  const flat = (value: object, prefix: string): [string, string][] =>
    Object.entries(value).map(([key, item]) => [`${prefix}${key}`, JSON.stringify(item)]);
  const old = new Map([
    ...flat({ ...before, strategy: undefined }, ""),
    ...flat(before.strategy, "strategy."),
  ]);
  const now = new Map([...flat({ ...after, strategy: undefined }, ""), ...flat(after.strategy, "strategy.")]);
  const short = (text: string | undefined): string => (text === undefined ? "nothing" : text.slice(0, 300));
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((key) => old.get(key) !== now.get(key))
    .map((key) => `- ${key}: ${short(old.get(key))}\n+ ${key}: ${short(now.get(key))}`);
}
