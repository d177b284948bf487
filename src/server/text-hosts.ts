/**
 * Hosts that get the text of a result alone. Claude Code and Codex would hand the model the structured content
 * instead of the text: twice as long, and without the line numbers that a model names lines by. The others would hand
 * it both, Gemini on errors only. Each is complete on its own, so the second only costs: tokens everywhere, and in
 * Cline, which drops the middle of what is longer than 8,000 characters, the middle of the answer.
 */
interface TextHost {
  /** How `clientInfo.name` begins, lower case. */
  client: string;
  /** Longest text, where the usual cap is more than the host lets through: Cline counts it with JSON's escapes. */
  outputChars?: number;
}

const TEXT_HOSTS: readonly TextHost[] = [
  { client: "claude-code" },
  { client: "codex-mcp-client" },
  { client: "@cline/", outputChars: 6_500 },
  { client: "cline", outputChars: 6_500 },
  { client: "copilot-cli" },
  { client: "gemini-cli-mcp-client" },
  { client: "qwen-cli-mcp-client" },
];

export function textHost(client: string): TextHost | undefined {
  return TEXT_HOSTS.find((host) => client.startsWith(host.client));
}
