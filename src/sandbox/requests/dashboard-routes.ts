import { isoTime, type WallClock } from '../../core/clock.ts';
import { randomId, systemRandomness } from '../../core/randomness.ts';
import { type ApiKey, sameSecret } from './auth.ts';
import type { Dashboard } from './dashboard.ts';
import { failure, type Reply, success } from './reply.ts';

const DEFAULT_VALIDITY_SECONDS = 3_600;
const MAXIMUM_VALIDITY_SECONDS = 31_536_000;
const EMBED_FIELDS = ['workspace_id', 'api_key_id', 'secret_key', 'dashboard_id'] as const;

/**
 * Endpoint 4.1, after the signature: 400 without workspace_id or title, 403 when workspace_id is not the key's. Values
 * that the interface does not show are made up: a draft, private, owned by the key.
 */
export function createDashboard(body: unknown, key: ApiKey, clock: WallClock): Reply {
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
export function createEmbedToken(body: unknown, keys: ReadonlyMap<string, ApiKey>, clock: WallClock): Reply {
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
