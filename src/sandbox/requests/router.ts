import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import * as z from 'zod';
import { isoTime, type WallClock } from '../../core/clock.ts';
import { randomId, systemRandomness } from '../../core/randomness.ts';
import type { SandboxDashboard } from '../world/store.ts';
import { isEqualInConstantTime, type SandboxKey, type SignatureChecker } from './auth.ts';
import { failureReply, type Reply, requiredMethod, type SandboxRequest, successReply } from './call.ts';
import type { UsageRoute } from './usage-routes.ts';

const NO_BODY = Buffer.alloc(0);

export interface RouterContext {
  clock: WallClock;
  keys: ReadonlyMap<string, SandboxKey>;
  checker: SignatureChecker;
  answerUsage: UsageRoute;
}

export type Router = (call: SandboxRequest, request: IncomingMessage) => Reply | Promise<Reply>;

/**
 * Creates the router. It checks a request in the order in which the service does: path, method, signature, access,
 * parameters. Each check has its own status.
 */
export function createRouter({ clock, keys, checker, answerUsage }: RouterContext): Router {
  async function answerDashboard(call: SandboxRequest, request: IncomingMessage): Promise<Reply> {
    const sent = await buffer(request);
    const verdict = checker.check(call, request.headers, sent);
    if (!verdict.ok) return verdict.reply;
    const body = parseRequestBody(createDashboardSchema, request, sent);
    return body.ok ? answerCreateDashboard(body.value, verdict.key, clock) : body.reply;
  }

  async function answerEmbedToken(request: IncomingMessage): Promise<Reply> {
    const body = parseRequestBody(embedSchema, request, await buffer(request));
    return body.ok ? answerEmbedTokenRequest(body.value, keys, clock) : body.reply;
  }

  return async (call, request) => {
    if (call.isMalformed) return failureReply(400, 'The path is not percent-encoded correctly');
    if (call.endpoint === null) return failureReply(404, 'There is no endpoint at this path');
    const method = requiredMethod(call.endpoint);
    if (call.method !== method) return failureReply(405, `This path accepts ${method} only`, { Allow: method });
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

const text = z.string().min(1);
const createDashboardSchema = z.object({ workspace_id: text, title: text, description: z.string().default('') });
const embedSchema = z.object({
  workspace_id: text,
  api_key_id: text,
  secret_key: text,
  dashboard_id: text,
  validity_duration: z.int().min(1).max(31_536_000).default(3_600),
});

/** Parses a JSON body. Returns 415 for another content type and 400 for a body that does not match its schema. */
function parseRequestBody<Schema extends z.ZodType>(schema: Schema, { headers }: IncomingMessage, body: Buffer) {
  const refuseBody = (status: number, reason: string) => ({ ok: false, reply: failureReply(status, reason) }) as const;
  if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
    return refuseBody(415, 'Content-Type is not application/json');
  }
  try {
    return { ok: true, value: schema.parse(JSON.parse(body.toString())) } as const;
  } catch (error) {
    return refuseBody(400, error instanceof z.ZodError ? z.prettifyError(error) : 'The body is not JSON');
  }
}

/**
 * Answers endpoint 4.1 after the signature check: 400 without workspace_id or title, 403 if the API key belongs to
 * another workspace. The specification shows no values for the other fields of the response; the sandbox chooses those
 * of a private draft that the key owns.
 */
function answerCreateDashboard(
  fields: z.output<typeof createDashboardSchema>,
  key: SandboxKey,
  clock: WallClock,
): Reply {
  const { workspace_id, title, description } = fields;
  if (workspace_id !== key.workspace.id) return failureReply(403, 'The API key has no access to this workspace');
  const now = isoTime(clock.now());
  const dashboard: SandboxDashboard = {
    dashboard_id: randomId(),
    title,
    description,
    workspace_id,
    dashboard_status: 'draft',
    meta: {},
    configuration: {},
    is_public: false,
    created_by: key.id,
    modified_by: key.id,
    deleted_by: '',
    created_at: now,
    modified_at: now,
  };
  key.workspace.dashboards.set(dashboard.dashboard_id, dashboard);
  return successReply('Dashboard created', JSON.stringify(dashboard));
}

/**
 * Answers endpoint 4.2: 400 for a missing field or a validity outside 1 to 31536000 seconds; 401 if key, secret and
 * workspace do not match; 404 for an unknown dashboard (our choice: the specification has no status for it). No answer
 * repeats any part of the body.
 */
function answerEmbedTokenRequest(
  fields: z.output<typeof embedSchema>,
  keys: ReadonlyMap<string, SandboxKey>,
  clock: WallClock,
): Reply {
  const key = keys.get(fields.api_key_id);
  const isSecret = key !== undefined && isEqualInConstantTime(fields.secret_key, key.secret);
  if (!isSecret || fields.workspace_id !== key.workspace.id) {
    return failureReply(401, 'API key, secret and workspace do not match');
  }
  if (!key.workspace.dashboards.has(fields.dashboard_id))
    return failureReply(404, 'The workspace has no such dashboard');
  const token = {
    token: `embed_${systemRandomness.bytes(32).toString('base64url')}`,
    expires_at: isoTime(clock.now() + fields.validity_duration * 1_000),
  };
  return successReply('Embed token generated', JSON.stringify(token));
}
