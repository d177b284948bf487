/** The companion client: `camel-mcp/client`. */
export { connectCamel } from "./connect.ts";
export { CamelClientError, type ClientErrorCode } from "./errors.ts";
export { toClaudeAgentConfig, type ClaudeAgentServer } from "./claude-agent.ts";
export {
  toOpenAITools,
  type OpenAIToolCall,
  type OpenAIToolMessage,
  type OpenAIToolset,
  type OpenAITool,
} from "./openai.ts";
export type {
  CallOptions,
  CamelAnswer,
  CamelCallResult,
  CamelClient,
  CamelQuestion,
  CamelResource,
  CamelTool,
  CommandTarget,
  ConnectOptions,
  UrlTarget,
} from "./types.ts";
