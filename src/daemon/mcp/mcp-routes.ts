import { createMcpHandler } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { EnqueueSync } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import type { Context } from '../../wiring/context.ts';
import type { Caller } from '../api/callers.ts';
import { ApiError } from '../api/problem.ts';
import type { SlowReads } from '../api/slow-reads.ts';
import { createMcpServer } from './mcp-server.ts';
import { type OperationTool, toolsOf } from './tools.ts';

export const MCP_PATH = '/mcp';
/**
 * The most open streams of `subscriptions/listen`. Nothing is published on these streams, so callers need no more of
 * them.
 */
const MAX_SUBSCRIPTIONS = 16;

export interface McpRoutesOptions {
  context: Context;
  version: string;
  slowReads: SlowReads;
  enqueueSync: EnqueueSync;
}

/**
 * Serves MCP over Streamable HTTP at `/mcp`, without sessions. The guards of the server have already checked the host
 * and the token.
 */
export function addMcp(app: FastifyInstance, options: McpRoutesOptions): void {
  const { context, version, slowReads, enqueueSync } = options;
  const toolsByPermission = new Map<string, OperationTool[]>();
  const toolsFor = ({ role, mcp = 'read' }: Caller): OperationTool[] => {
    const key = `${role} ${mcp}`;
    const tools = toolsByPermission.get(key) ?? toolsOf(OPERATIONS, role, mcp === 'write');
    toolsByPermission.set(key, tools);
    return tools;
  };
  const { logger, redact } = context;
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const caller = authInfo?.extra?.caller as Caller;
      return createMcpServer({
        version,
        tools: toolsFor(caller),
        host: {
          logger,
          redact,
          withScope: (signal, use) =>
            use({
              context,
              connection: context.reader().connection,
              actor: { name: caller.name, kind: 'token' },
              signal,
              enqueueSync,
              runInThread: slowReads.of(context, { name: caller.name, kind: 'token' }, signal),
            }),
        },
      });
    },
    {
      maxSubscriptions: MAX_SUBSCRIPTIONS,
      onerror: (error) => logger.debug({ reason: error.message }, 'mcp'),
    },
  );
  app.addHook('onClose', () => handler.close());
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: MCP_PATH,
    exposeHeadRoute: false,
    async handler(request, reply) {
      if (isForeign(request)) {
        throw new ApiError(403, 'foreign_origin', `${request.headers.origin} may not use this server`, {
          hint: 'connect from a program, which sends no Origin header',
        });
      }
      const { caller, body } = request;
      if (caller === null) throw new Error('the guards let a request without a token pass');
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const response = await handler.fetch(webRequest(request, gone.signal), {
        parsedBody: body,
        authInfo: { token: '', clientId: caller.name, scopes: [caller.role], extra: { caller } },
      });
      return reply.send(response);
    },
  });
}

/** Reports whether a page of another site sent the request. Programs send no Origin header. */
function isForeign({ headers }: FastifyRequest): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== host;
}

/** Converts a request to the form that the protocol library needs, without the body, which has already been parsed. */
function webRequest({ method, url, headers }: FastifyRequest, signal: AbortSignal): Request {
  const known = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && name !== 'authorization' && name !== 'content-length') known.set(name, String(value));
  }
  return new Request(new URL(url, 'http://localhost'), { method, headers: known, signal });
}
