/**
 * Hosts that hand the model the text and the structured content of a result, one after the other. Each is complete
 * on its own, so the second only costs: tokens everywhere, and in Cline, which drops the middle of what is longer
 * than 8,000 characters, the middle of the answer. They get the text alone.
 */
interface TextHost {
  /** How `clientInfo.name` begins, lower case. */
  client: string;
  /** Longest text, where the usual cap is more than the host lets through: Cline counts it with JSON's escapes. */
  outputChars?: number;
}

const TEXT_HOSTS: readonly TextHost[] = [
  { client: "@cline/", outputChars: 6_500 },
  { client: "cline", outputChars: 6_500 },
  { client: "copilot-cli" },
  { client: "qwen-cli-mcp-client" },
];

export function textHost(client: string): TextHost | undefined {
  return TEXT_HOSTS.find((host) => client.startsWith(host.client));
}
