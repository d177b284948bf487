/** A client as thin as can be, so that what is timed is the server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { createInterface } from "node:readline";

const INFO = { name: "bench", version: "1.0.0" };
const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO };

/** Starts a stdio server and returns how to ask it; `close` ends its stdin and waits for its end. */
export function stdioClient(args, { env, stdio = ["pipe", "pipe", "ignore"] } = {}) {
  const child = spawn(process.execPath, args, { stdio, env: { ...process.env, ...env } });
  const waiting = new Map();
  createInterface(child.stdout).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  let last = 0;
  const ask = (method, params) => {
    const id = (last += 1);
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer;
  };
  return {
    child,
    ask,
    async initialize() {
      await ask("initialize", INITIALIZE);
      child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    },
    async close() {
      const closed = once(child, "close");
      child.stdin.end();
      await closed;
    },
  };
}

const ERAS = {
  legacy: { "mcp-protocol-version": "2025-11-25" },
  modern: { "mcp-protocol-version": "2026-07-28" },
};

/** A client of a server that prints its address first; `era` is legacy (with a session) or modern. */
export async function httpClient(args, era) {
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
  const [url] = await once(createInterface(child.stdout), "line");
  const agent = new Agent({ keepAlive: true });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...ERAS[era],
  };
  let last = 0;
  const ask = async (method, params) => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": INFO,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const body = {
      jsonrpc: "2.0",
      id: (last += 1),
      method,
      params: era === "modern" ? { ...params, _meta: meta } : params,
    };
    const routing = era === "modern" ? { "mcp-method": method, "mcp-name": params.name ?? "" } : {};
    const answer = await post(`${url}/mcp`, agent, { ...headers, ...routing }, JSON.stringify(body));
    if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
    const session = answer.headers["mcp-session-id"];
    if (session !== undefined) headers["mcp-session-id"] = session;
    const data = answer.text.startsWith("{") ? answer.text : /^data: (\{.*)$/m.exec(answer.text)?.[1];
    return JSON.parse(data);
  };
  if (era === "legacy") {
    await ask("initialize", INITIALIZE);
    await post(`${url}/mcp`, agent, headers, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
  }
  return {
    ask,
    async close() {
      agent.destroy();
      const closed = once(child, "close");
      child.stdin.end();
      await closed;
    },
  };
}

function post(url, agent, headers, body) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers }, (res) => {
      let text = "";
      res.setEncoding("utf8").on("data", (chunk) => (text += chunk));
      res.on("end", () => resolve({ status: res.statusCode, headers: res.headers, text }));
      res.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
