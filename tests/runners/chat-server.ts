import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

export interface ChatRequest {
  model: string;
  messages: { role: string; content: string | null; tool_call_id?: string; tool_calls?: unknown[] }[];
  tools?: { type: string; function: { name: string; parameters: Record<string, unknown> } }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  [key: string]: unknown;
}

export type Reply = (res: ServerResponse, request: ChatRequest) => void | Promise<void>;

/** A local endpoint that speaks the streaming format of chat completions; each request gets the next reply. */
export async function chatServer(
  replies: readonly Reply[],
): Promise<{ baseUrl: string; requests: ChatRequest[]; headers: IncomingMessage["headers"][] }> {
  const requests: ChatRequest[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const server = createServer((req, res) => {
    let body = "";
    req.on("data", (chunk: Buffer) => (body += chunk.toString("utf8")));
    req.on("end", () => {
      if (req.url !== "/v1/chat/completions" || req.method !== "POST") {
        res.writeHead(404).end();
        return;
      }
      const request = JSON.parse(body) as ChatRequest;
      const reply = replies[Math.min(requests.length, replies.length - 1)];
      requests.push(request);
      headers.push(req.headers);
      void reply?.(res, request);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  );
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, headers };
}

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: 40 },
};

export function open(res: ServerResponse): void {
  res.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
}

export function send(res: ServerResponse, delta: object, finish: string | null = null): void {
  const chunk = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
  res.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

export function close(res: ServerResponse): void {
  res.write(
    `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage: USAGE })}\n\n`,
  );
  res.end("data: [DONE]\n\n");
}

/** An answer in several pieces, one of them cut in the middle of a character. */
export const says =
  (...pieces: string[]): Reply =>
  (res) => {
    open(res);
    res.write(": a comment keeps the line open\n\n");
    send(res, { role: "assistant", content: "" });
    for (const piece of pieces) send(res, { content: piece });
    send(res, {}, "stop");
    close(res);
  };

/** A tool call whose arguments come in bits, as real endpoints send them. */
export const calls =
  (...wanted: { name: string; args: string }[]): Reply =>
  (res) => {
    open(res);
    send(res, { role: "assistant", content: null });
    for (const [index, { name, args }] of wanted.entries()) {
      send(res, {
        tool_calls: [
          { index, id: `call_${name}_${index}`, type: "function", function: { name, arguments: "" } },
        ],
      });
      for (let start = 0; start < args.length; start += 7)
        send(res, { tool_calls: [{ index, function: { arguments: args.slice(start, start + 7) } }] });
    }
    send(res, {}, "tool_calls");
    close(res);
  };

export const refuses =
  (status: number, message: string, headers: Record<string, string> = {}): Reply =>
  (res) => {
    res.writeHead(status, { "content-type": "application/json", ...headers });
    res.end(JSON.stringify({ error: { message, type: "error" } }));
  };

/** Half an answer, and then the connection is gone. */
export const cutsOff: Reply = async (res) => {
  open(res);
  send(res, { content: "half an an" });
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  res.destroy();
};

export const stalls: Reply = (res) => {
  open(res);
  send(res, { content: "hm" });
};
