import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import type { Role } from '../../../src/core/text/roles.ts';
import { parseJson, type World } from '../../commands/world.ts';
import { CLI } from '../../support/daemon-process.ts';
import { TOKENS } from '../api/served-api.ts';

/** The first text of an answer, and what else it says. */
export interface ToolReply {
  isError: boolean;
  /** The document; integers beyond 2^53 come as bigints. */
  json: ReturnType<typeof parseJson>;
  text: string;
  notes: string[];
}

export interface Assistant {
  client: Client;
  call(tool: string, fields?: Record<string, unknown>): Promise<ToolReply>;
}

/** Connects the client of the protocol's own package to `/mcp`. */
export async function connectOverHttp(url: string, role: Role = 'read'): Promise<Assistant> {
  const token = TOKENS.find((known) => known.role === role)?.token ?? '';
  return connectedTo(
    new StreamableHTTPClientTransport(new URL('/mcp', url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
}

/** Starts `usage-ledger mcp` in the folder of a world and connects to its stdin and stdout. */
export function connectOverStdio({ folder }: Pick<World, 'folder'>): Promise<Assistant> {
  return connectByCommand([CLI, 'mcp'], folder);
}

/** Starts Node with these arguments as an assistant does, and connects to its stdin and stdout. */
export function connectByCommand(args: string[], cwd: string): Promise<Assistant> {
  const { PATH = '' } = process.env;
  return connectedTo(
    new StdioClientTransport({ command: process.execPath, args, cwd, env: { PATH }, stderr: 'ignore' }),
  );
}

type Transport = Parameters<Client['connect']>[0];

async function connectedTo(transport: Transport): Promise<Assistant> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, call: (tool, fields = {}) => call(client, tool, fields) };
}

async function call(client: Client, name: string, fields: Record<string, unknown>): Promise<ToolReply> {
  const { content, isError = false } = await client.callTool({ name, arguments: fields });
  const [text = '', ...notes] = content.map((block) => (block.type === 'text' ? block.text : ''));
  return { isError, json: parseJson(text), text, notes };
}
