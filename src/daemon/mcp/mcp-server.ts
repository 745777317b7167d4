import { ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { callTool, MAX_ROWS, type OperationTool, type ToolHost } from './tools.ts';
import { readViewResource, VIEW_RESOURCES } from './view-resources.ts';

const INSTRUCTIONS = `usage-ledger keeps the metered usage of customers (tenants) by workspace and billing month, what it costs, and alerts when it jumps.
- A month is YYYY-MM in UTC. Credits and requests are integers, amounts are decimal text in \`currency\`. Never add different currencies.
- Every answer has \`snapshot\`: \`as_of\` is the age of the figures; say so when \`complete\` is false.
- Months that are not closed still change, and their amounts are estimates.
- An answer has at most ${MAX_ROWS} rows. Pass \`next_cursor\` as \`cursor\` for the next ones before you add anything up.
- Numbers beyond 2^53 are exact in the text of an answer.`;

export interface McpServerOptions {
  version: string;
  tools: readonly OperationTool[];
  host: ToolHost;
}

/** Creates the MCP server for one connection, or for one request over HTTP. */
export function createMcpServer({ version, tools, host }: McpServerOptions): Server {
  const server = new Server(
    { name: 'usage-ledger', version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({ tools: tools.map(({ tool }) => tool) }));
  server.setRequestHandler('tools/call', ({ params }, { mcpReq: { signal } }) => {
    const called = tools.find(({ tool }) => tool.name === params.name);
    if (called !== undefined) return callTool(called, params.arguments ?? {}, { host, signal });
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool ${JSON.stringify(params.name)}`);
  });
  server.setRequestHandler('resources/list', () => ({ resources: [...VIEW_RESOURCES] }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', ({ params }) => ({ contents: [readViewResource(params.uri)] }));
  return server;
}
