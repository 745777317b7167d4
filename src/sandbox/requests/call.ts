/** The four endpoints: 4.3, 4.4, 4.1 and 4.2 of the interface, in this order. */
export type Endpoint = 'workspace_usage' | 'tenant_history' | 'create_dashboard' | 'embed_token';

const METHODS: Record<Endpoint, 'GET' | 'POST'> = {
  workspace_usage: 'GET',
  tenant_history: 'GET',
  create_dashboard: 'POST',
  embed_token: 'POST',
};

export interface SandboxCall {
  method: string;
  /** As sent: still percent-encoded, without the query. */
  path: string;
  /** As sent, without the question mark. */
  rawQuery: string;
  query: URLSearchParams;
  /** Null: the path is none of the service's. */
  endpoint: Endpoint | null;
  workspaceId: string | null;
  tenantId: string | null;
  /** The page asked for; 1 when the query says nothing, NaN when it is no number. */
  page: number;
  malformed: boolean;
}

export function methodOf(endpoint: Endpoint): 'GET' | 'POST' {
  return METHODS[endpoint];
}

/**
 * Reads method and target. Paths are cut before they are decoded and never normalised, so that a tenant may be called
 * `a/b` or `..`.
 */
export function parseCall(method: string, target: string): SandboxCall {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const rawQuery = mark < 0 ? '' : target.slice(mark + 1);
  const query = new URLSearchParams(rawQuery);
  const page = query.get('page');
  const place = locate(path);
  return { method, path, rawQuery, query, ...place, page: page === null ? 1 : Number(page) };
}

type Place = Pick<SandboxCall, 'endpoint' | 'workspaceId' | 'tenantId' | 'malformed'>;

const NOWHERE: Place = { endpoint: null, workspaceId: null, tenantId: null, malformed: false };

function locate(path: string): Place {
  if (path === '/api/v1/external/dashboards') return { ...NOWHERE, endpoint: 'create_dashboard' };
  if (path === '/api/v1/embed/generate-token') return { ...NOWHERE, endpoint: 'embed_token' };
  const match = /^\/api\/v1\/external\/workspaces\/([^/]+)\/tenant-usage(?:\/([^/]+))?$/.exec(path);
  const workspace = match?.[1];
  if (workspace === undefined) return NOWHERE;
  const workspaceId = decoded(workspace);
  const tenant = match?.[2];
  const tenantId = tenant === undefined ? null : decoded(tenant);
  if (workspaceId === null || (tenant !== undefined && tenantId === null)) return { ...NOWHERE, malformed: true };
  const endpoint = tenantId === null ? 'workspace_usage' : 'tenant_history';
  return { endpoint, workspaceId, tenantId, malformed: false };
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export interface Envelope {
  message: string;
  success: boolean;
  data: Record<string, unknown> | null;
}

/** An answer before it is written. An envelope is JSON text already, so that integers stay exact. */
export interface Reply {
  status: number;
  body: string | Buffer;
  /** Besides Date, Content-Length and Content-Type: application/json, which they may replace. */
  headers?: Record<string, string>;
}

export function success(message: string, dataJson: string): Reply & { body: string } {
  return { status: 200, body: `{"message":${JSON.stringify(message)},"success":true,"data":${dataJson}}` };
}

export function failure(status: number, message: string, headers: Record<string, string> = {}): Reply {
  return { status, body: JSON.stringify({ success: false, message, data: null }), headers };
}
