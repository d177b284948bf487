/** The public API of the library. The client has its own entry, `camel-mcp/client`. */
export { createCamel, type Camel, type CamelOptions } from "./camel.ts";
export { callTool, type CallToolOptions } from "./call-tool.ts";
export { runAgent, type AgentOptions } from "./agent.ts";
export type { AgentEvent, AgentUsage, RunResult } from "./runners/agent-loop.ts";
export { configJsonSchema } from "./config/schema.ts";
export { CamelError, ERROR_CODES, ERROR_MEANINGS, type ErrorCode } from "./shared/errors.ts";
export { VERSION } from "./shared/version.ts";
export type { CamelEvent, CamelEventType, CamelListener } from "./pipeline/events.ts";
export type { Call, ToolResult } from "./pipeline/call.ts";
export type { Caller, ToolContext } from "./tools/context.ts";
export { adoptTool, defineTool, type ForeignTool } from "./tools/adopt.ts";
export { builtinTools } from "./tools/index.ts";
export type { Effect, Tier, ToolDef, ToolLimits, ToolOutput, Touches } from "./tools/tool.ts";
export { listToolDefs } from "./server/list-tool-defs.ts";
export { serveOnHttp, type HttpOptions, type HttpServer } from "./transport/http.ts";
export { serveOnStdio, type StdioOptions } from "./transport/stdio.ts";
export { createFileTokens, type TokenStore } from "./stores/tokens.ts";
