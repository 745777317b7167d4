import type { Readable, Writable } from 'node:stream';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { systemUser } from '../../core/process/system-user.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import type { Context } from '../../wiring/context.ts';
import { createMcpServer } from './mcp-server.ts';
import { type ToolHost, toolsOf } from './tools.ts';

/** Serves MCP over two streams with the operations that read, until the input ends or `stop` aborts. */
export async function serveMcpOverStdio(
  context: Context,
  { input, output, stop }: { input: Readable; output: Writable; stop: AbortSignal },
): Promise<void> {
  const { logger, redact, version } = context;
  const tools = toolsOf(OPERATIONS, 'read', false);
  const host: ToolHost = { logger, redact, withScope: (signal, use) => withLedger(context, signal, use) };
  const ended = new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) input.once(event, () => resolve());
    output.once('close', () => resolve());
    stop.addEventListener('abort', () => resolve(), { once: true });
    if (stop.aborted) resolve();
  });
  const served = serveStdio(() => createMcpServer({ version, tools, host }), {
    transport: new StdioServerTransport(input, output),
    onerror: (error) => logger.debug({ reason: error.message }, 'mcp'),
  });
  await ended;
  await served.close();
}

/**
 * Opens the ledger for one call. An assistant keeps this process for days, and a restore replaces the ledger's file. A
 * connection that stayed open would still read the old file.
 */
async function withLedger<T>(
  context: Context,
  signal: AbortSignal,
  use: Parameters<ToolHost['withScope']>[1],
): Promise<T> {
  const { connection, close } = openReader(context.config.ledger.path);
  try {
    const actor = { name: systemUser(), kind: 'terminal' } as const;
    return (await use({ context, connection, actor, signal })) as T;
  } finally {
    close();
  }
}
