import type { IncomingMessage } from 'node:http';
import type { WallClock } from '../../core/clock.ts';
import type { ApiKey, SignatureChecker } from './auth.ts';
import { methodOf, type SandboxCall } from './call.ts';
import { createDashboard, createEmbedToken } from './dashboard-routes.ts';
import { failure, type Reply } from './reply.ts';
import type { UsageRoute } from './usage-routes.ts';

const MAXIMUM_BODY_BYTES = 1_048_576;

type JsonBody = { ok: true; value: unknown } | { ok: false; reply: Reply };

const NO_BODY = Buffer.alloc(0);

export interface RouterContext {
  clock: WallClock;
  /** By key id. */
  keys: ReadonlyMap<string, ApiKey>;
  checker: SignatureChecker;
  answerUsage: UsageRoute;
}

export type Router = (call: SandboxCall, request: IncomingMessage) => Reply | Promise<Reply>;

/** Answers as the service does: path, method, signature, access and only then the parameters, each with its status. */
export function createRouter({ clock, keys, checker, answerUsage }: RouterContext): Router {
  async function answerDashboard(call: SandboxCall, request: IncomingMessage): Promise<Reply> {
    const sent = await readBody(request);
    const verdict = checker.check(call, request.headers, sent ?? NO_BODY);
    if (!verdict.ok) return verdict.reply;
    const body = parseJsonBody(request, sent);
    return body.ok ? createDashboard(body.value, verdict.key, clock) : body.reply;
  }

  async function answerEmbedToken(request: IncomingMessage): Promise<Reply> {
    const body = parseJsonBody(request, await readBody(request));
    return body.ok ? createEmbedToken(body.value, keys, clock) : body.reply;
  }

  return async (call, request) => {
    if (call.malformed) return failure(400, 'The path is not percent-encoded correctly');
    if (call.endpoint === null) return failure(404, 'There is nothing at this path');
    const method = methodOf(call.endpoint);
    if (call.method !== method) return failure(405, `This path answers to ${method} only`, { Allow: method });
    switch (call.endpoint) {
      case 'workspace_usage':
      case 'tenant_history': {
        const verdict = checker.check(call, request.headers, NO_BODY);
        return verdict.ok ? answerUsage(call, verdict.key.workspace) : verdict.reply;
      }
      case 'create_dashboard': {
        const reply = await answerDashboard(call, request);
        return { ...reply, headers: { ...reply.headers, 'Access-Control-Allow-Origin': '*' } };
      }
      case 'embed_token':
        return answerEmbedToken(request);
    }
  };
}

/** Reads a body of at most 1 MiB; null when it is longer. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // What is too much is read all the same, unkept: closing on a client that still sends would lose it the answer.
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAXIMUM_BODY_BYTES) chunks.push(chunk);
  }
  return bytes > MAXIMUM_BODY_BYTES ? null : Buffer.concat(chunks);
}

/** The JSON of a body: 415 for another content type, 413 beyond the limit, 400 when it is not JSON. */
function parseJsonBody({ headers }: IncomingMessage, body: Buffer | null): JsonBody {
  const contentType = (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (contentType !== 'application/json')
    return { ok: false, reply: failure(415, 'Content-Type is not application/json') };
  if (body === null) return { ok: false, reply: failure(413, 'The body is larger than 1 MiB') };
  try {
    return { ok: true, value: JSON.parse(body.toString('utf8')) as unknown };
  } catch {
    return { ok: false, reply: failure(400, 'The body is not JSON') };
  }
}
