import { isObject } from "../shared/is-object.ts";
import type { RunnerAnswer } from "./runner.ts";

/** How a known agent CLI is run without a person: its flags, and where its answer stands in what it prints. */
export interface Preset {
  argv: readonly string[];
  /** Undefined where what was printed is not what the program prints. */
  parse?: (stdout: string) => Parsed | undefined;
}

/** `failure`: some programs tell of a failure in what they print and end with code 0. */
type Parsed = RunnerAnswer & { failure?: string };

/** Prompts come on stdin, never as an argument: arguments show in process lists and have a limit. */
export const PRESETS: Record<"claude" | "codex" | "gemini" | "copilot" | "opencode", Preset> = {
  claude: { argv: ["claude", "--print", "--output-format", "json"], parse: parseClaude },
  codex: { argv: ["codex", "exec", "--json", "--skip-git-repo-check", "-"], parse: parseCodex },
  gemini: { argv: ["gemini", "--output-format", "json"], parse: parseGemini },
  copilot: { argv: ["copilot", "--output-format", "json", "--no-ask-user"], parse: parseCopilot },
  opencode: { argv: ["opencode", "run", "--format", "json"], parse: parseOpencode },
};

type Json = Record<string, unknown>;

/** A run that was cut short has a subtype (error_max_turns, ...) and no result. */
function parseClaude(stdout: string): Parsed | undefined {
  const answer = lastObject(
    stdout,
    (value) => value["type"] === "result" || typeof value["result"] === "string",
  );
  if (answer === undefined) return undefined;
  const usage = objectAt(answer, "usage");
  const text = typeof answer["result"] === "string" ? answer["result"] : "";
  const subtype = typeof answer["subtype"] === "string" ? answer["subtype"] : "success";
  const failed = answer["is_error"] === true || subtype.startsWith("error");
  return {
    text,
    ...(failed ? { failure: text === "" ? subtype : text } : {}),
    usage: compact({
      inputTokens: number(usage?.["input_tokens"]),
      outputTokens: number(usage?.["output_tokens"]),
      costUsd: number(answer["total_cost_usd"]),
    }),
  };
}

/** One event a line; the answer is the last message of the agent. */
function parseCodex(stdout: string): Parsed | undefined {
  let text: string | undefined;
  let usage: Json | undefined;
  let failure: string | undefined;
  for (const event of objectsIn(stdout)) {
    const item = objectAt(event, "item");
    if (item?.["type"] === "agent_message" && typeof item["text"] === "string") text = item["text"];
    if (event["type"] === "turn.completed") usage = objectAt(event, "usage");
    if (event["type"] === "turn.failed") failure = messageOf(event);
  }
  if (text === undefined && failure === undefined) return undefined;
  return {
    text: text ?? "",
    ...(failure === undefined ? {} : { failure }),
    usage: compact({
      inputTokens: number(usage?.["input_tokens"]),
      outputTokens: number(usage?.["output_tokens"]),
    }),
  };
}

function parseGemini(stdout: string): Parsed | undefined {
  const answer = lastObject(
    stdout,
    (value) => typeof value["response"] === "string" || isObject(value["error"]),
  );
  if (answer === undefined) return undefined;
  const models = Object.values(objectAt(objectAt(answer, "stats"), "models") ?? {}).map((model) =>
    objectAt(isObject(model) ? model : undefined, "tokens"),
  );
  const sum = (key: string): number =>
    models.reduce((total, tokens) => total + (number(tokens?.[key]) ?? 0), 0);
  return {
    text: typeof answer["response"] === "string" ? answer["response"] : "",
    ...(isObject(answer["error"]) ? { failure: messageOf(answer) } : {}),
    ...(models.length === 0
      ? {}
      : { usage: { inputTokens: sum("prompt"), outputTokens: sum("candidates") } }),
  };
}

/** One event a line; the answer is what the assistant said, without the empty turns that only call tools. */
function parseCopilot(stdout: string): Parsed | undefined {
  const events = objectsIn(stdout);
  const said = events
    .filter((event) => event["type"] === "assistant.message")
    .map((event) => objectAt(event, "data")?.["content"])
    .filter((content) => typeof content === "string" && content.trim() !== "");
  const last = said.at(-1);
  if (typeof last === "string") return { text: last };
  const failed = events.findLast((event) => event["type"] === "session.error");
  return failed === undefined ? undefined : { text: "", failure: messageOf(failed) };
}

function parseOpencode(stdout: string): Parsed | undefined {
  const texts: string[] = [];
  let failure: string | undefined;
  const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  for (const event of objectsIn(stdout)) {
    const part = objectAt(event, "part");
    if (event["type"] === "text" && typeof part?.["text"] === "string") texts.push(part["text"]);
    if (event["type"] === "error") failure = messageOf(event);
    if (event["type"] === "step_finish") {
      const tokens = objectAt(part, "tokens");
      usage.inputTokens += number(tokens?.["input"]) ?? 0;
      usage.outputTokens += number(tokens?.["output"]) ?? 0;
      usage.costUsd += number(part?.["cost"]) ?? 0;
    }
  }
  if (texts.length === 0 && failure === undefined) return undefined;
  return { text: texts.join("\n"), usage, ...(failure === undefined ? {} : { failure }) };
}

/** Where programs put the reason of a failure: `error`, `error.message`, `error.data.message` or `data.message`. */
function messageOf(event: Json): string {
  const error = objectAt(event, "error");
  const candidates = [
    event["error"],
    objectAt(error, "data")?.["message"],
    error?.["message"],
    objectAt(event, "data")?.["message"],
    event["message"],
    error?.["name"],
  ];
  return (
    (candidates.find((one) => typeof one === "string" && one !== "") as string | undefined) ??
    "no reason given"
  );
}

/** Whole output as one object, or one object a line: CLIs print warnings around both. */
function objectsIn(stdout: string): Json[] {
  const whole = parseObject(stdout.trim());
  if (whole !== undefined) return [whole];
  const lines = stdout
    .split("\n")
    .map((line) => parseObject(line.trim()))
    .filter((value) => value !== undefined);
  if (lines.length > 0) return lines;
  const [start, end] = [stdout.indexOf("{"), stdout.lastIndexOf("}")];
  const inner = start === -1 ? undefined : parseObject(stdout.slice(start, end + 1));
  return inner === undefined ? [] : [inner];
}

function lastObject(stdout: string, wanted: (value: Json) => boolean): Json | undefined {
  return objectsIn(stdout).findLast(wanted);
}

function parseObject(text: string): Json | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function objectAt(value: Json | undefined, key: string): Json | undefined {
  const found = value?.[key];
  return isObject(found) ? found : undefined;
}

function number(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function compact(usage: Record<string, number | undefined>): NonNullable<RunnerAnswer["usage"]> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined));
}
