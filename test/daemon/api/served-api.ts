import { once } from 'node:events';
import { type Agent, request } from 'node:http';
import type { Config } from '../../../src/config/types.ts';
import type { Role } from '../../../src/core/text/roles.ts';
import type { EnqueueSync, Operation } from '../../../src/operations/operation.ts';
import type { Context } from '../../../src/wiring/context.ts';
import { parseJson, type World } from '../../commands/world.ts';
import type { LogLine } from '../../support/daemon-process.ts';
import { serveWorld } from '../http/serve-world.ts';

export const TOKENS: Config['http']['tokens'] = (['read', 'operate', 'finance'] as const).map((role) => {
  return { name: `${role}-bot`, role, token: `${role}-token-of-this-test-123456` };
});

export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
  text: string;
  /** The document, with integers beyond 2^53 as bigints. */
  json: ReturnType<typeof parseJson>;
}

export interface ApiQuestion {
  method?: string;
  /** The role of the token; null: without one. */
  role?: Role | null;
  headers?: Record<string, string>;
  body?: unknown;
  agent?: Agent;
}

export interface ServedApi {
  url: string;
  context: Context;
  /** What the server has logged so far. */
  lines: readonly LogLine[];
  ask(path: string, question?: ApiQuestion): Promise<ApiAnswer>;
}

/** Serves the API over the ledger of a world, until the test ends. */
export async function serveApi(
  world: Pick<World, 'folder' | 'clock'>,
  { requestsPerMinute = 1200, tokens = TOKENS }: { requestsPerMinute?: number; tokens?: typeof TOKENS } = {},
): Promise<ServedApi> {
  const { url, context, lines } = await serveWorld(world, (own, clock) => ({
    apiTokens: () => tokens,
    api: { context: own, clock, version: '1.2.3', requestsPerMinute, enqueueSync: queueOfRuns() },
  }));
  return { url, context, lines, ask: (path, question) => ask(url, path, question) };
}

/** A queue that nobody works on: each workspace has one waiting run at most. */
export function queueOfRuns(): EnqueueSync {
  const waiting = new Set<string>();
  return async (workspaceId) => {
    const answer = waiting.has(workspaceId) ? 'exists' : 'added';
    waiting.add(workspaceId);
    return answer;
  };
}

async function ask(
  url: string,
  path: string,
  { method = 'GET', role = 'read', headers = {}, body, agent }: ApiQuestion = {},
): Promise<ApiAnswer> {
  const token = TOKENS.find((known) => known.role === role)?.token;
  const sent = request(`${url}/api${path}`, {
    method,
    ...(agent === undefined ? {} : { agent }),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': Buffer.isBuffer(body) ? FORM_TYPE : 'application/json' }),
      ...headers,
    },
  });
  sent.end(body === undefined ? undefined : isRaw(body) ? body : JSON.stringify(body));
  const [response] = await once(sent, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const text = bytes.toString('utf8');
  const isJson = /json;|json$/.test(String(response.headers['content-type'] ?? '')) && text !== '';
  const isLines = String(response.headers['content-type'] ?? '').includes('ndjson');
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes,
    text,
    json: isJson && !isLines ? parseJson(text) : null,
  };
}

/** The request of an operation with these values: in the address, or in the body of a POST. */
export function requestOf(
  { http: { method, path }, upload }: Pick<Operation, 'http' | 'upload'>,
  input: Readonly<Record<string, unknown>>,
): [path: string, question: ApiQuestion] {
  if (method === 'GET') return [addressOf(path, input as Record<string, string>), {}];
  const body = { ...input };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = String(body[field]);
    delete body[field];
    return encodeURIComponent(value);
  });
  return [`/v1${filled}`, { method, body: upload === undefined ? body : formOf(body) }];
}

const BOUNDARY = 'boundary-of-this-test';
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

/** A form as a browser sends it. A file is an object with name and bytes. */
function formOf(fields: Readonly<Record<string, unknown>>): Buffer {
  const parts = Object.entries(fields).flatMap(([name, value]) => {
    const { name: file, bytes } = (typeof value === 'object' ? value : {}) as { name?: string; bytes?: Buffer };
    const head = `content-disposition: form-data; name="${name}"${file === undefined ? '' : `; filename="${file}"`}`;
    const type = file === undefined ? '' : '\r\ncontent-type: application/octet-stream';
    return [
      Buffer.from(`--${BOUNDARY}\r\n${head}${type}\r\n\r\n`),
      bytes ?? Buffer.from(String(value)),
      Buffer.from('\r\n'),
    ];
  });
  return Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

function isRaw(body: unknown): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body);
}

/** The address of an operation with these values. */
export function addressOf(path: string, input: Readonly<Record<string, string>>): string {
  const rest = { ...input };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest[field] ?? '';
    delete rest[field];
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams(rest).toString();
  return `/v1${filled}${query === '' ? '' : `?${query}`}`;
}
