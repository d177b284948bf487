/** A question of the server for the person at this end: a flat form. */
export interface CamelQuestion {
  message: string;
  schema: Record<string, unknown>;
}

export interface CamelAnswer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string | number | boolean | string[]>;
}

export interface ConnectBase {
  /** Name this client gives itself; policy scopes may match it. */
  name?: string;
  /** Answers the server's questions (approvals, for one). Without it the server is told that nobody can be asked. */
  onAsk?: (question: CamelQuestion, context: { signal: AbortSignal }) => Promise<CamelAnswer> | CamelAnswer;
  /** Called whenever the connection is there (again) or has gone. */
  onConnection?: (state: "connected" | "lost") => void;
  /** Come back after a lost connection. Default: true. */
  reconnect?: boolean;
  connectTimeoutMs?: number;
}

export interface CommandTarget {
  /** A server to start, which talks on stdin and stdout. */
  command: string;
  args?: readonly string[];
  /** Added to a small safe environment (PATH, HOME, …). */
  env?: Record<string, string>;
  cwd?: string;
  /** Whose memory and policy the server uses. */
  agent?: string;
  onStderr?: (text: string) => void;
}

export interface UrlTarget {
  /** A running server. */
  url: string | URL;
  /** Bearer token; it decides whose memory and policy the server uses. */
  token?: string;
}

export type ConnectOptions = ConnectBase & (CommandTarget | UrlTarget);

export interface CamelTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
}

export interface CamelCallResult {
  text: string;
  structured?: Record<string, unknown>;
  /** The tool ran and failed, or was refused; `text` says what to do next. */
  isError: boolean;
}

export interface CallOptions {
  signal?: AbortSignal;
  onProgress?: (update: { progress: number; total?: number; message?: string }) => void;
  /** Longest silence: progress starts the time anew, and it stands still while `onAsk` is open. Default: 120 s. */
  timeoutMs?: number;
}

export interface CamelResource {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

/** A connection to a camel-mcp server. No type of the MCP SDK shows through; every error is a CamelClientError. */
export interface CamelClient {
  tools(): Promise<CamelTool[]>;
  /** An error of the tool is a result; only a call without a result throws. */
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CamelCallResult>;
  resources(): Promise<CamelResource[]>;
  readResource(uri: string): Promise<string>;
  /** Calls `listener` when the list of tools changed, and after each reconnect. Returns how to stop. */
  onToolsChanged(listener: () => void): () => void;
  /** Calls `listener` when this resource changed, and after each reconnect. Returns how to stop. */
  onResourceUpdated(uri: string, listener: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
