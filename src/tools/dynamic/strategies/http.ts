import { LONGEST_TIMER_MS } from "../../../shared/clock.ts";
import { CamelError } from "../../../shared/errors.ts";
import type { Definition, StrategyOf } from "../definition.ts";
import { getPath } from "../json-path.ts";
import { asText, fillJson, placeholdersIn } from "../template.ts";
import { hostPart } from "../envelope.ts";
import { checkUrl, coversHost, hostOf, type UrlPolicy } from "../url-policy.ts";
import { textIn } from "./http-body.ts";
import { sendRequest, type HttpAnswer, type HttpRequest } from "./http-request.ts";
import { fillTemplate, type Engine, type Run } from "./strategy.ts";

/** Too many requests; a gateway or a host that is busy or away. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export const http: Engine = {
  async foresee(run) {
    const url = await urlOf(run, () => Promise.resolve("secret"));
    checkUrl(url, run.context.settings().urlAccess);
    const host = hostOf(url);
    const approved = run.envelope.hosts.some(
      (pattern) => coversHost(pattern, host, false) || sameHost(pattern, host),
    );
    return {
      // Without the query: it may hold what the caller searched for, and policy is about hosts and paths.
      touches: { urls: [`${url.origin}${url.pathname}`] },
      outside: approved ? [] : [`it would reach ${host}`],
    };
  },

  async execute(run) {
    const strategy = httpOf(run);
    const policy = run.context.settings().urlAccess;
    const answer = await sendRequest(await requestOf(run, strategy), {
      policy,
      hosts: run.envelope.hosts,
      maxBytes: Math.min(strategy.max_bytes ?? policy.maxResponseBytes, policy.maxResponseBytes),
      signal: AbortSignal.any([
        run.signal,
        AbortSignal.timeout(Math.min(policy.timeoutSeconds * 1000, LONGEST_TIMER_MS)),
      ]),
    });
    return result(run, strategy, answer);
  },
};

/** What can be refused when the tool is made: a fixed host that policy never allows. */
export function checkTemplate(definition: Definition, policy: UrlPolicy): void {
  const { strategy } = definition;
  if (strategy.type !== "http") return;
  const origin = hostPart(strategy.url);
  if (placeholdersIn(origin).length === 0) checkUrl(new URL(origin), policy);
}

function httpOf(run: Run): StrategyOf<"http"> {
  const { strategy } = run.definition;
  if (strategy.type !== "http") throw new CamelError("internal", "not an http tool");
  return strategy;
}

function sameHost(pattern: string, host: string): boolean {
  return pattern.replace(/^\[|\]$/g, "").toLowerCase() === host;
}

/** Each value is encoded for the part of the URL it stands in, so that it can't reach into another part. */
async function urlOf(run: Run, secret: Run["secret"]): Promise<URL> {
  const { query, url: template } = httpOf(run);
  const value = (name: string): string => asText(getPath(run.input, name));
  const origin = hostPart(template);
  const rest = template.slice(origin.length).replace(/#.*$/, "");
  const filledOrigin = await fillTemplate(origin, { secret }, value, hostValue);
  const question = rest.indexOf("?");
  const pathTemplate = question < 0 ? rest : rest.slice(0, question);
  const path = await fillTemplate(pathTemplate, { secret }, value, encoded);
  // The parser would fold `..` away, whichever way it is written, and so leave the path that was approved.
  const climbs = (text: string): number =>
    text.split("/").filter((part) => /^(?:\.|%2e){1,2}$/i.test(part)).length;
  if (climbs(path) > climbs(pathTemplate.replaceAll(/\{\{.*?\}\}/g, "x")))
    throw new CamelError("invalid_input", 'A value would become "." or ".." in the path.', {
      next: "Send the name of what you want, not a way through folders.",
    });
  const search = question < 0 ? "" : await fillTemplate(rest.slice(question), { secret }, value, encoded);
  const url = asUrl(`${filledOrigin}${path}${search}`, filledOrigin);
  for (const [name, text] of Object.entries(query))
    url.searchParams.append(name, await fillTemplate(text, { secret }, value));
  return url;
}

function encoded(value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    throw new CamelError("invalid_input", "A value holds half of a character, which no URL can carry.", {
      next: "Send whole characters.",
    });
  }
}

function asUrl(text: string, origin: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new CamelError("invalid_input", `"${origin.slice(0, 100)}" names no host that exists.`, {
      next: "Send the name of a host, or an address with four numbers up to 255.",
    });
  }
}

function hostValue(value: string): string {
  if (/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(value)) return value;
  throw new CamelError("invalid_input", `"${value.slice(0, 100)}" is not a host name.`, {
    next: "Send the bare name of the host: letters, digits, dots and dashes.",
  });
}

async function requestOf(run: Run, strategy: StrategyOf<"http">): Promise<HttpRequest> {
  const value = (name: string): string => asText(getPath(run.input, name));
  const headers: Record<string, string> = {};
  for (const [name, template] of Object.entries(strategy.headers))
    headers[name] = await fillTemplate(template, run, value, headerValue);
  const body = await bodyOf(run, strategy, headers);
  return {
    method: strategy.method,
    url: await urlOf(run, run.secret),
    headers,
    secretHeaders: Object.keys(strategy.headers).filter((name) =>
      strategy.headers[name]?.includes("secret://"),
    ),
    ...(body === undefined ? {} : { body }),
  };
}

function headerValue(value: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what must not get into a header
  if (!/[^\t\u0020-\u007E\u0080-\u00FF]/.test(value)) return value;
  throw new CamelError("invalid_input", "A value for a header holds characters that a header can't.", {
    next: "Send plain text without line breaks.",
  });
}

async function bodyOf(
  run: Run,
  { body, method }: StrategyOf<"http">,
  headers: Record<string, string>,
): Promise<string | undefined> {
  const type = Object.entries(headers).find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const setType = (one: string): void => {
    if (type === undefined) headers["content-type"] = one;
  };
  const value = (name: string): string => asText(getPath(run.input, name));
  if (method === "GET" || method === "HEAD") return undefined;
  if (body === undefined) {
    if (method === "DELETE") return undefined;
    const { input } = run.input;
    if (typeof input === "string" && Object.keys(run.input).length === 1) {
      setType("text/plain; charset=utf-8");
      return input;
    }
    setType("application/json");
    return JSON.stringify(run.input);
  }
  if (typeof body !== "string") {
    setType("application/json");
    return JSON.stringify(await withSecretsInJson(body, run));
  }
  if (type?.includes("json") === true)
    return fillTemplate(body, run, value, (one) => JSON.stringify(one).slice(1, -1));
  if (type?.includes("x-www-form-urlencoded") === true) return fillTemplate(body, run, value, encoded);
  setType("text/plain; charset=utf-8");
  return fillTemplate(body, run, value);
}

/** Secrets first, placeholders after them: a value that reads like a secret's name stays what it is. */
async function withSecretsInJson(template: unknown, run: Run): Promise<unknown> {
  const lookup = (name: string): unknown => getPath(run.input, name) ?? null;
  if (typeof template === "string")
    return /secret:\/\//.test(template)
      ? fillTemplate(template, run, (name) => asText(lookup(name)))
      : fillJson(template, lookup);
  if (Array.isArray(template)) return Promise.all(template.map((item) => withSecretsInJson(item, run)));
  if (typeof template === "object" && template !== null) {
    const entries = await Promise.all(
      Object.entries(template).map(async ([key, item]) => [key, await withSecretsInJson(item, run)] as const),
    );
    return Object.fromEntries(entries);
  }
  return template;
}

function result(
  run: Run,
  strategy: StrategyOf<"http">,
  answer: HttpAnswer,
): { text: string; structured: Record<string, unknown> } {
  const body = textIn(answer.body, answer.type);
  const binary = body.slice(0, 2_000).includes("\0");
  const cut = answer.truncated ? `\n(cut after ${answer.body.length} bytes)` : "";
  const structured = {
    status: answer.status,
    url: answer.url,
    contentType: answer.type,
    isCut: answer.truncated,
  };
  if (answer.status >= 400) {
    throw new CamelError(
      // What may work a moment later is what `retry` tries again.
      PASSING.has(answer.status) ? "unavailable" : "tool_failed",
      `${run.definition.name}: the host answered ${answer.status}: ${binary ? "" : body.slice(0, 2_000)}`,
      {
        next:
          answer.status === 429 || answer.status >= 500
            ? "Retry later."
            : "Correct the input, or update the tool.",
        details: structured,
      },
    );
  }
  if (binary)
    throw new CamelError(
      "not_text",
      `${run.definition.name}: the answer is not text (${answer.type}, ${answer.body.length} bytes).`,
    );
  if (strategy.json_path === undefined)
    return { text: `${body}${cut}`, structured: { ...structured, output: body } };
  let parsed: unknown;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw new CamelError(
      "tool_failed",
      `${run.definition.name}: the answer is not JSON${cut}: ${body.slice(0, 500)}`,
      {
        next: "Update the tool without json_path, or with another url.",
      },
    );
  }
  const part = getPath(parsed, strategy.json_path);
  if (part === undefined)
    throw new CamelError(
      "tool_failed",
      `${run.definition.name}: the answer has no "${strategy.json_path}": ${body.slice(0, 500)}`,
      {
        next: "Update the tool with a json_path that the answer has.",
      },
    );
  const output = asText(part);
  return { text: output, structured: { ...structured, output } };
}
