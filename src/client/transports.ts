import {
  StreamableHTTPClientTransport,
  isJSONRPCRequest,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { LOST_CODE } from "./errors.ts";

type Send = StreamableHTTPClientTransport["send"];

/**
 * A response stream that ends without its answer would leave the request waiting for its time-out. Here it is
 * answered at once: the server has gone. A late second answer to the same request is ignored by the SDK.
 */
class HttpTransport extends StreamableHTTPClientTransport {
  override send(...[message, options]: Parameters<Send>): ReturnType<Send> {
    if (!isJSONRPCRequest(message) || options?.onRequestStreamEnd !== undefined)
      return super.send(message, options);
    const onRequestStreamEnd = (): void =>
      this.onmessage?.({
        jsonrpc: "2.0",
        id: message.id,
        error: { code: LOST_CODE, message: "The stream ended without an answer." },
      });
    return super.send(message, { ...options, onRequestStreamEnd });
  }
}

export function httpTransport(url: string | URL, token: string | undefined): Transport {
  return new HttpTransport(
    new URL(url),
    token === undefined ? {} : { requestInit: { headers: { Authorization: `Bearer ${token}` } } },
  );
}

/** Not the SDK's own class on purpose: for that one it spawns a second process only to find out the era. */
export class StdioTransport extends StdioClientTransport {}
