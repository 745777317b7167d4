/**
 * The four endpoints of the service, which sections 4.3, 4.4, 4.1 and 4.2 of the API specification define in this
 * order.
 */
export type Endpoint = 'workspace_usage' | 'tenant_history' | 'create_dashboard' | 'embed_token';

const METHODS: Record<Endpoint, 'GET' | 'POST'> = {
  workspace_usage: 'GET',
  tenant_history: 'GET',
  create_dashboard: 'POST',
  embed_token: 'POST',
};

/** A request to the sandbox. */
export interface SandboxRequest {
  method: string;
  /** The path as the client sent it: percent-encoded, without the query. */
  path: string;
  /** The query as the client sent it, without the question mark. */
  rawQuery: string;
  query: URLSearchParams;
  /** The endpoint. Null if the path does not belong to the service. */
  endpoint: Endpoint | null;
  workspaceId: string | null;
  tenantId: string | null;
  /** The requested page: 1 by default, NaN if it is not a number. */
  page: number;
  isMalformed: boolean;
}

export function requiredMethod(endpoint: Endpoint): 'GET' | 'POST' {
  return METHODS[endpoint];
}

/**
 * Parses the method and URL of a request. The path is split before it is decoded, and never normalized, so that a
 * tenant id may be `a/b` or `..`.
 */
export function parseRequest(method: string, target: string): SandboxRequest {
  const mark = target.indexOf('?');
  const path = mark < 0 ? target : target.slice(0, mark);
  const rawQuery = mark < 0 ? '' : target.slice(mark + 1);
  const query = new URLSearchParams(rawQuery);
  const page = query.get('page');
  const place = parseTarget(path);
  return { method, path, rawQuery, query, ...place, page: page === null ? 1 : Number(page) };
}

type CallTarget = Pick<SandboxRequest, 'endpoint' | 'workspaceId' | 'tenantId' | 'isMalformed'>;

const NO_TARGET: CallTarget = { endpoint: null, workspaceId: null, tenantId: null, isMalformed: false };

function parseTarget(path: string): CallTarget {
  if (path === '/api/v1/external/dashboards') return { ...NO_TARGET, endpoint: 'create_dashboard' };
  if (path === '/api/v1/embed/generate-token') return { ...NO_TARGET, endpoint: 'embed_token' };
  const match = /^\/api\/v1\/external\/workspaces\/([^/]+)\/tenant-usage(?:\/([^/]+))?$/.exec(path);
  const workspace = match?.[1];
  if (workspace === undefined) return NO_TARGET;
  const workspaceId = decodeSegment(workspace);
  const tenant = match?.[2];
  const tenantId = tenant === undefined ? null : decodeSegment(tenant);
  if (workspaceId === null || (tenant !== undefined && tenantId === null)) return { ...NO_TARGET, isMalformed: true };
  const endpoint = tenantId === null ? 'workspace_usage' : 'tenant_history';
  return { endpoint, workspaceId, tenantId, isMalformed: false };
}

function decodeSegment(text: string): string | null {
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

/** A response that has not been sent yet. Its envelope is already JSON text, so that large integers stay exact. */
export interface Reply {
  status: number;
  body: string | Buffer;
  /** Headers to add to Date, Content-Length and Content-Type: application/json. They may replace these. */
  headers?: Record<string, string>;
}

export function successReply(message: string, dataJson: string): Reply & { body: string } {
  return { status: 200, body: `{"message":${JSON.stringify(message)},"success":true,"data":${dataJson}}` };
}

export function failureReply(status: number, message: string, headers: Record<string, string> = {}): Reply {
  return { status, body: JSON.stringify({ success: false, message, data: null }), headers };
}
