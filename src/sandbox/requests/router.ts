import type { IncomingMessage } from 'node:http';
import { isoTime, type WallClock } from '../../core/clock.ts';
import { randomId, systemRandomness } from '../../core/randomness.ts';
import type { Dashboard } from '../world/store.ts';
import { type ApiKey, type SignatureChecker, sameSecret } from './auth.ts';
import { failure, methodOf, type Reply, type SandboxCall, success } from './call.ts';
import type { UsageRoute } from './usage-routes.ts';

const MAXIMUM_BODY_BYTES = 1_048_576;

type JsonBody = { ok: true; value: unknown } | { ok: false; reply: Reply };

const NO_BODY = Buffer.alloc(0);

export interface RouterContext {
  clock: WallClock;
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

const DEFAULT_VALIDITY_SECONDS = 3_600;
const MAXIMUM_VALIDITY_SECONDS = 31_536_000;
const EMBED_FIELDS = ['workspace_id', 'api_key_id', 'secret_key', 'dashboard_id'] as const;

/**
 * Endpoint 4.1, after the signature: 400 without workspace_id or title, 403 when workspace_id is not the key's. Values
 * that the interface does not show are made up: a draft, private, owned by the key.
 */
function createDashboard(body: unknown, key: ApiKey, clock: WallClock): Reply {
  const fields = jsonObject(body);
  if (fields === null) return failure(400, 'The body is not a JSON object');
  const missing = missingTexts(fields, ['workspace_id', 'title']);
  if (missing !== null) return failure(400, missing);
  const { title, description = '' } = fields;
  if (typeof title !== 'string' || typeof description !== 'string') return failure(400, 'description is not text');
  if (fields.workspace_id !== key.workspace.id) return failure(403, 'The API key has no access to this workspace');
  const now = isoTime(clock.now());
  const dashboard: Dashboard = {
    dashboard_id: randomId(),
    title,
    description,
    workspace_id: key.workspace.id,
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
  return success('Dashboard created', JSON.stringify(dashboard));
}

/**
 * Endpoint 4.2. 400 for a missing field or a validity that is not 1 to 31536000 seconds; 401 when key, secret and
 * workspace do not belong together; 404 for a dashboard that the workspace does not have (the interface shows no
 * status for that; chosen here). No answer repeats anything of the body.
 */
function createEmbedToken(body: unknown, keys: ReadonlyMap<string, ApiKey>, clock: WallClock): Reply {
  const fields = jsonObject(body);
  if (fields === null) return failure(400, 'The body is not a JSON object');
  const missing = missingTexts(fields, EMBED_FIELDS);
  if (missing !== null) return failure(400, missing);
  const { validity_duration: validity = DEFAULT_VALIDITY_SECONDS } = fields;
  if (
    typeof validity !== 'number' ||
    !Number.isInteger(validity) ||
    validity < 1 ||
    validity > MAXIMUM_VALIDITY_SECONDS
  ) {
    return failure(400, 'validity_duration is not an integer from 1 to 31536000 seconds');
  }
  const key = keys.get(String(fields.api_key_id));
  if (
    key === undefined ||
    !sameSecret(String(fields.secret_key), key.secret) ||
    fields.workspace_id !== key.workspace.id
  ) {
    return failure(401, 'API key, secret and workspace do not belong together');
  }
  if (!key.workspace.dashboards.has(String(fields.dashboard_id))) {
    return failure(404, 'The workspace has no such dashboard');
  }
  const token = {
    token: `embed_${systemRandomness.bytes(32).toString('base64url')}`,
    expires_at: isoTime(clock.now() + validity * 1_000),
  };
  return success('Embed token generated', JSON.stringify(token));
}

function jsonObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Names every field that is not a non-empty text; null when all are. */
function missingTexts(fields: Record<string, unknown>, names: readonly string[]): string | null {
  const missing = names.filter((name) => typeof fields[name] !== 'string' || fields[name] === '');
  return missing.length === 0 ? null : `Required and missing: ${missing.join(', ')}`;
}
