import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { SHARED_SECRETS } from './hostile-receivers.ts';

/** What a service knows of us that it must not pass on. */
export interface Known {
  workspaceId: string;
  /** The secret key of the workspace that asks. */
  secret: string;
  /** That of another workspace. */
  other: string;
  /** The signature that it was just sent. */
  signature: string;
  /** Both, in one text; then the same in other encodings. */
  echo: string;
}

export interface Fault {
  /** The code of the error that a run ends with. */
  code: string;
  /**
   * True: the service's text is part of that error, and so has to stand there without what was taken out of it. False:
   * nothing of the text is ever quoted.
   */
  quoted: boolean;
  reply(response: ServerResponse, known: Known): void;
}

type Fields = Record<string, unknown>;

const ITEM = {
  tenant_id: 'acme',
  period: '2026-03',
  period_start: '2026-03-01T00:00:00Z',
  period_end: '2026-04-01T00:00:00Z',
  credits_used: 1,
  request_count: 1,
};

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
}

function failing(status: number, code: string): Fault {
  return {
    code,
    quoted: true,
    reply(response, { echo, secret }) {
      response.statusMessage = `no ${secret}`;
      send(response, status, { success: false, message: echo }, { 'x-echo': secret });
    },
  };
}

/** A page of one record, with some of its fields replaced. */
function page(change: (known: Known) => { data?: Fields; item?: Fields; envelope?: Fields }): Fault {
  return {
    code: 'invalid_response',
    quoted: true,
    reply(response, known) {
      const { data, item, envelope } = change(known);
      const usage = [{ ...ITEM, ...item }];
      const all = { workspace_id: known.workspaceId, usage, total_records: 1, total_pages: 1, ...data };
      send(response, 200, { success: true, message: 'ok', data: all, ...envelope });
    },
  };
}

function message(text: (known: Known) => string): Fault {
  return { ...failing(400, 'bad_request'), reply: (response, known) => say(response, text(known)) };
}

function say(response: ServerResponse, text: string): void {
  send(response, 400, { success: false, message: text });
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const hex = (text: string): string => Buffer.from(text).toString('hex');

/** Every way in which a service can answer with what it was sent. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'a refused request': failing(400, 'bad_request'),
  'a refused signature': failing(401, 'unauthorized'),
  'a forbidden workspace': failing(403, 'forbidden'),
  'an unknown workspace': failing(404, 'not_found'),
  'a conflict': failing(409, 'bad_request'),
  'a rate limit': failing(429, 'rate_limited'),
  'a broken service': failing(500, 'server_error'),
  'a service that is away for long': {
    ...failing(503, 'rate_limited'),
    reply: (response, { echo }) => send(response, 503, { message: echo }, { 'retry-after': '600', date: echo }),
  },
  'a wait that is no time': {
    ...failing(503, 'server_error'),
    reply: (response, { echo, secret }) => send(response, 503, { message: echo }, { 'retry-after': secret }),
  },
  'a failure that is packed': {
    ...failing(400, 'bad_request'),
    reply: (response, { echo }) =>
      send(response, 400, gzipSync(JSON.stringify({ message: echo })), { 'content-encoding': 'gzip' }),
  },
  'a success that is none': page(({ echo }) => ({ envelope: { success: false, message: echo } })),
  'another workspace': page(({ secret }) => ({ data: { workspace_id: secret } })),
  'totals that are text': page(({ secret }) => ({ data: { total_pages: secret } })),
  'usage that is text': page(({ secret }) => ({ data: { usage: secret } })),
  'data that is text': page(({ secret }) => ({ envelope: { data: secret } })),
  'a success that is text': page(({ secret }) => ({ envelope: { success: secret } })),
  'a period that is none': page(({ secret }) => ({ item: { period: secret } })),
  'a time that is none': page(({ secret }) => ({ item: { period_start: secret } })),
  'credits that are text': page(({ secret }) => ({ item: { credits_used: secret } })),
  'the secret key as base64': message(({ secret }) => `you sent ${base64(secret)} to us`),
  'the secret key as hex': message(({ secret }) => `you sent ${hex(secret)} to us`),
  'the secret key as upper-case hex': message(({ secret }) => `you sent ${hex(secret).toUpperCase()} to us`),
  'the secret key in an address': message(
    ({ secret }) => `see https://x.example/?key=${encodeURIComponent(secret)} now`,
  ),
  'the secret key as a password of Basic': message(({ secret }) => `Basic ${base64(`user:${secret}`)} is wrong`),
  'the secret key in capitals': message(({ secret }) => `KEY ${secret.toUpperCase()} IS WRONG`),
  'the secret key with invisible characters in it': message(
    ({ secret }) => `key ${[...secret].join('\u200b')} is wrong`,
  ),
  'a message that a cut would split': message(({ secret }) => `${'many words '.repeat(26)}${secret}`),
  'a signature alone': message(({ signature }) => `${signature} is not what we expect`),
  'the secrets of pages, queue and channels': message(() => Object.values(SHARED_SECRETS).join(' and ')),
  "another workspace's secret key": message(({ other }) => `${other} is the key of somebody else`),
  'a redirect to a host of that name': {
    code: 'redirected',
    quoted: true,
    reply: (response, { secret }) => send(response, 302, {}, { location: `https://${secret}.example/next` }),
  },
  'a redirect with what was sent in its path': {
    code: 'redirected',
    quoted: false,
    reply: (response, { echo, secret }) =>
      send(response, 307, { message: '' }, { location: `https://x.example/${secret}?${encodeURIComponent(echo)}` }),
  },
  'another workspace with a long name': {
    ...page(({ echo }) => ({ data: { workspace_id: `${echo} ${echo}` } })),
    quoted: false,
  },
  'a body that is not JSON': {
    code: 'invalid_response',
    quoted: true,
    reply: (response, { echo }) => response.end(echo),
  },
  'a body that is not UTF-8': {
    code: 'invalid_response',
    quoted: true,
    reply: (response, { echo }) => response.end(Buffer.concat([Buffer.from(echo), Buffer.from([0xff])])),
  },
  'an encoding that nobody asked for': {
    code: 'invalid_response',
    quoted: false,
    reply: (response, { echo, secret }) => send(response, 200, { echo }, { 'content-encoding': secret }),
  },
  'a status line that is none': {
    code: 'network',
    quoted: false,
    reply: (response, { echo }) => response.socket?.end(`HTTP/1.1 ${echo}\r\n\r\n`),
  },
  'an answer that breaks off': {
    code: 'network',
    quoted: false,
    reply(response, { echo }) {
      response.writeHead(200, { 'content-length': String(2 * echo.length) });
      response.write(echo, () => response.socket?.destroy());
    },
  },
};

export interface HostileService {
  url: string;
  /** The signatures that each workspace has sent. */
  signatures: ReadonlyMap<string, ReadonlySet<string>>;
  close(): Promise<void>;
}

/** A service whose workspaces each fail in a way of their own; `secretOf` is what it knows of their secret keys. */
export async function startHostileService(
  faultOf: (workspaceId: string) => Fault,
  secretOf: (workspaceId: string) => string,
): Promise<HostileService> {
  const signatures = new Map<string, Set<string>>();
  const server = createServer((request: IncomingMessage, response) => {
    const workspaceId = decodeURIComponent(/\/workspaces\/([^/?]+)/.exec(request.url ?? '')?.[1] ?? '');
    const signature = String(request.headers['x-signature'] ?? '');
    const secret = secretOf(workspaceId);
    const other = secretOf('ws-100');
    const all = [signature, secret, base64(secret), hex(secret), encodeURIComponent(secret), base64(signature)];
    signatures.set(workspaceId, (signatures.get(workspaceId) ?? new Set()).add(signature));
    faultOf(workspaceId).reply(response, {
      workspaceId,
      secret,
      other,
      signature,
      echo: `you sent ${all.join(' and ')}`,
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    signatures,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
