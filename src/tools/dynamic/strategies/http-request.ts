import { lookup as systemLookup, type LookupAddress } from "node:dns";
import { request as plainRequest, type IncomingMessage } from "node:http";
import { request as tlsRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { CamelError, messageOf, toCamelError } from "../../../shared/errors.ts";
import { readBody } from "./http-body.ts";
import { checkAddress, checkUrl, coversHost, hostOf, type UrlPolicy } from "../url-policy.ts";

export interface HttpRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  /** Names of headers that hold a secret, whatever they are called. */
  secretHeaders?: readonly string[];
  body?: string;
}

export interface HttpOptions {
  policy: UrlPolicy;
  /** The hosts that were approved. */
  hosts: readonly string[];
  maxBytes: number;
  signal: AbortSignal;
  /** The addresses of a name; the system's resolver unless a test says otherwise. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>;
}

export interface HttpAnswer {
  status: number;
  url: string;
  type: string;
  body: Buffer;
  truncated: boolean;
}

const MOST_REDIRECTS = 5;
/** A header that is called so is taken for a credential: dropping one too many only loses a setting. */
const CREDENTIALS =
  /auth|cookie|token|secret|key|session|credential|password|passwd|signature|jwt|csrf|bearer/i;

/** Follows redirects by hand, so that every hop is judged as if it had been asked for in the first place. */
export async function sendRequest(first: HttpRequest, options: HttpOptions): Promise<HttpAnswer> {
  let request = first;
  for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
    checkUrl(request.url, options.policy);
    checkApproved(request.url, options.hosts);
    const response = await send(request, options);
    const status = response.statusCode ?? 0;
    const location = response.headers.location;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined)
      return {
        ...(await bodyOf(response, request.url, options)),
        status,
        url: request.url.href,
        type: response.headers["content-type"] ?? "",
      };
    response.destroy();
    request = redirected(request, location, status);
  }
  throw new CamelError("tool_failed", `${first.url.host} redirects more than ${MOST_REDIRECTS} times.`, {
    next: "Use the final address in the tool's url.",
  });
}

function checkApproved(url: URL, hosts: readonly string[]): void {
  const host = hostOf(url);
  if (hosts.some((pattern) => coversHost(pattern, host, false) || pattern.replace(/^\[|\]$/g, "") === host))
    return;
  throw new CamelError("approval_required", `The tool wasn't approved to reach ${host}.`, {
    next: `Update the tool with "${host}" in envelope.hosts if that is right.`,
  });
}

function redirected(request: HttpRequest, location: string, status: number): HttpRequest {
  let url: URL;
  try {
    url = new URL(location, request.url);
  } catch {
    throw new CamelError("tool_failed", `${request.url.host} redirects to something that isn't a URL.`);
  }
  if (request.url.protocol === "https:" && url.protocol !== "https:")
    throw new CamelError(
      "denied_by_policy",
      `${request.url.host} redirects from https to ${url.protocol}//.`,
      {
        next: "Use the final address in the tool's url.",
      },
    );
  const sameOrigin = url.origin === request.url.origin;
  const toGet = status === 303 || ((status === 301 || status === 302) && request.method === "POST");
  const { body, ...rest } = request;
  const keepsBody = body !== undefined && !toGet;
  if (keepsBody && !sameOrigin)
    throw new CamelError("denied_by_policy", `${request.url.host} wants the body sent on to ${url.host}.`, {
      next: "Use the final address in the tool's url.",
    });
  const isCredential = (name: string): boolean =>
    CREDENTIALS.test(name) || request.secretHeaders?.includes(name) === true;
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(
      ([name]) => (sameOrigin || !isCredential(name)) && (keepsBody || !/^content-/i.test(name)),
    ),
  );
  return { ...rest, url, headers, method: toGet ? "GET" : request.method, ...(keepsBody ? { body } : {}) };
}

function send(request: HttpRequest, options: HttpOptions): Promise<IncomingMessage> {
  const { policy, signal } = options;
  const name = hostOf(request.url);
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => reject(sendError(error, request.url, signal));
    const start = request.url.protocol === "https:" ? tlsRequest : plainRequest;
    const outgoing = start(request.url, {
      method: request.method,
      headers: {
        "user-agent": "camel-mcp",
        accept: "*/*",
        "accept-encoding": "identity",
        ...request.headers,
      },
      // A connection of its own: one from a pool might lead to an address that nobody checked.
      agent: false,
      lookup: checkedLookup(options, name),
      signal,
    });
    outgoing.on("socket", (socket) => {
      socket.once("connect", () => {
        try {
          checkAddress(socket.remoteAddress ?? "", policy, name);
        } catch (error) {
          outgoing.destroy(toCamelError(error));
        }
      });
    });
    outgoing.on("response", resolve);
    outgoing.on("error", fail);
    // A switch to another protocol ends in no answer and no error.
    outgoing.on("close", () => fail(new Error("the connection was closed without an answer")));
    outgoing.end(request.body);
  });
}

/** One lookup, checked, and the very addresses that were checked go to the socket. One bad address spoils all. */
function checkedLookup({ policy, resolve = resolveName }: HttpOptions, name: string): LookupFunction {
  return (hostname, wanted, answer) => {
    checkedAddresses(hostname, name, policy, resolve).then(
      (addresses) => {
        const [first] = addresses;
        if (wanted.all === true) answer(null, addresses);
        else answer(null, first?.address ?? "", first?.family);
      },
      (error: unknown) => answer(error instanceof Error ? error : new Error(String(error)), ""),
    );
  };
}

/** The addresses of a host, if every one of them may be reached; `name` is how the URL called it. */
export async function checkedAddresses(
  hostname: string,
  name: string,
  policy: UrlPolicy,
  resolve = resolveName,
): Promise<LookupAddress[]> {
  const addresses = await resolve(hostname);
  if (addresses.length === 0) throw new CamelError("unavailable", `${hostname} has no address.`);
  for (const { address } of addresses) checkAddress(address, policy, name);
  return addresses;
}

function resolveName(hostname: string): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}

async function bodyOf(
  response: IncomingMessage,
  url: URL,
  { maxBytes, signal }: HttpOptions,
): Promise<{ body: Buffer; truncated: boolean }> {
  try {
    return await readBody(response, maxBytes);
  } catch (error) {
    if (signal.aborted) throw sendError(error, url, signal);
    throw new CamelError("unavailable", `The answer broke off: ${messageOf(error)}.`, {
      next: "Retry later.",
      cause: error,
    });
  }
}

function sendError(error: unknown, url: URL, signal: AbortSignal): CamelError {
  if (error instanceof CamelError) return error;
  if (signal.aborted && signal.reason instanceof CamelError) return signal.reason;
  if (signal.aborted)
    return new CamelError("timeout", `${url.host} didn't answer in time.`, {
      next: "Retry later, or ask for less.",
    });
  return new CamelError("unavailable", `${url.host} can't be reached: ${messageOf(error)}.`, {
    next: "Check the address; retry later if the host is down.",
    cause: error,
  });
}
