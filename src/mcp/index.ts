// The public surface of `swarmwright/mcp`.

export { MCP_LIMITS, type McpLimits } from '../limits.ts';
export { type McpServer, mcpServer } from './mcp-server.ts';
export type {
  Elicitation,
  ElicitationAnswer,
  HttpServerOptions,
  McpFault,
  McpServerOptions,
  McpServerSettings,
  SamplingAnswer,
  SamplingRequest,
  StdioServerOptions,
} from './server-options.ts';
