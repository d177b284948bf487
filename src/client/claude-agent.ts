import type { CommandTarget, UrlTarget } from "./types.ts";

/** An entry of `options.mcpServers` of the Claude Agent SDK; the same shape as in Claude Code's .mcp.json. */
export type ClaudeAgentServer =
  | { type: "stdio"; command: string; args: string[]; env?: Record<string, string> }
  | { type: "http"; url: string; headers?: Record<string, string> };

/** The Agent SDK connects by itself: it only needs to know where. */
export function toClaudeAgentConfig(target: CommandTarget | UrlTarget): ClaudeAgentServer {
  if ("url" in target) {
    const { url, token } = target;
    return {
      type: "http",
      url: String(url),
      ...(token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } }),
    };
  }
  const { command, args = [], env, agent } = target;
  const all = { ...env, ...(agent === undefined ? {} : { CAMELAGI_AGENT: agent }) };
  return {
    type: "stdio",
    command,
    args: [...args],
    ...(Object.keys(all).length === 0 ? {} : { env: all }),
  };
}
