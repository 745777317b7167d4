import { createHash, createHmac, type Hash, type Hmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { SignatureV4 } from '@smithy/signature-v4';
import { onTestFinished } from 'vitest';
import type { S3Access, S3Place } from '../../../src/config/types.ts';
import type { Identity } from './self-signed.ts';

// cspell:ignore akiatest

export const ACCESS_KEY = 'AKIATEST';
export const SECRET_KEY = 'sk+of/this/test+s3';
export const BUCKET = 'our-bucket';
const REGION = 'eu-test-1';
const SMALLEST_PART = 5 * 1024 * 1024;

/** One request as the server saw it. */
export interface SeenRequest {
  method: string;
  /** Decoded, without the bucket. */
  key: string;
  query: URLSearchParams;
}

/**
 * What becomes of a request instead of its answer: a status with a code, a connection that is cut before or after the work is done, or
 * once half of the body has come; no answer at all.
 */
export type Fault = { status: number; code: string } | 'cut' | 'cut_half' | 'cut_after' | 'silent';

export interface S3Options {
  /** The server's clock; the system's when absent, and any time is right where this is not a number. */
  now?: () => number;
  /** It is reached as Amazon is, by a name of the bucket, and keeps checksums; others refuse requests that speak of them. */
  amazon?: boolean;
  /** Objects are counted and hashed, and not kept. */
  discards?: boolean;
  /** So many keys in one answer of a list. */
  pageSize?: number;
  tls?: Identity;
}

export interface StoredObject {
  sizeBytes: number;
  sha256: string;
  checksum: string;
  body: Buffer;
}

/** A store of objects that checks each signature by another library than the program's. */
export interface S3Server {
  access: S3Access;
  place(prefix: string): S3Place;
  /** The settings of `s3:`. */
  settings: Record<string, string>;
  objects: Map<string, StoredObject>;
  /** Objects in parts that are not finished, by their id. */
  uploads: Map<string, { key: string; parts: Map<number, StoredObject> }>;
  requests: SeenRequest[];
  /** Says what is to go wrong with a request. */
  fault: (request: SeenRequest) => Fault | null;
  /** What HEAD says of the size of an object. */
  sizeSaid: (sizeBytes: number) => number;
}

/** Closed when the test has finished. */
export async function startS3Server(options: S3Options = {}): Promise<S3Server> {
  const server = options.tls === undefined ? createHttpServer() : createHttpsServer(options.tls);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const endpoint = options.tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`;
  const access: S3Access = {
    endpoint,
    region: REGION,
    accessKeyId: ACCESS_KEY,
    secretAccessKey: SECRET_KEY,
    ca: null,
    proxy: null,
  };
  const store: S3Server = {
    access,
    place: (prefix) => ({ access, bucket: BUCKET, prefix }),
    settings: { endpoint, region: REGION, access_key_id: ACCESS_KEY, secret_access_key: SECRET_KEY },
    objects: new Map(),
    uploads: new Map(),
    requests: [],
    fault: () => null,
    sizeSaid: (sizeBytes) => sizeBytes,
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    request.on('error', () => undefined);
    answer(store, options, request, response).catch((error: unknown) => {
      if (error instanceof Refused) refuse(response, error);
      else response.destroy();
    });
  });
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return store;
}

class Refused extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

function refuse(response: ServerResponse, { status, code }: { status: number; code: string }): void {
  response.writeHead(status, { 'content-type': 'application/xml', 'x-amz-bucket-region': REGION });
  // As the real one does, it repeats what must not come out anywhere.
  response.end(`<Error><Code>${code}</Code><Message>${SECRET_KEY}</Message><Region>${REGION}</Region></Error>`);
}

async function answer(store: S3Server, options: S3Options, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`);
  const named = options.amazon === true ? `/${request.headers.host?.split('.')[0]}${url.pathname}` : url.pathname;
  const [, bucket = '', ...path] = named.split('/').map(decodeURIComponent);
  const seen = { method: request.method ?? '', key: path.join('/'), query: url.searchParams };
  store.requests.push(seen);
  const fault = store.fault(seen);
  if (fault === 'silent') return;
  if (fault === 'cut') return void request.socket.destroy();
  const body = await readBody(request, options, fault === 'cut_half');
  if (body === null) return void request.socket.destroy();
  if (typeof fault === 'object' && fault !== null) throw new Refused(fault.status, fault.code);
  await checkSignature(request, url, options);
  if (bucket !== BUCKET) throw new Refused(404, 'NoSuchBucket');
  if (request.headers['x-amz-content-sha256'] !== body.sha256) throw new Refused(400, 'XAmzContentSHA256Mismatch');
  const ofChecksums = Object.keys(request.headers).find((name) => name.startsWith('x-amz-checksum'));
  if (ofChecksums !== undefined && options.amazon !== true) throw new Refused(501, 'NotImplemented');
  const checksum = request.headers['x-amz-checksum-sha256'];
  if (checksum !== undefined && checksum !== body.checksum) throw new Refused(400, 'BadDigest');
  const { status = 200, headers = {}, text = '' } = act(store, options, seen, { body, request: request.headers });
  if (fault === 'cut_after') return void request.socket.destroy();
  response.writeHead(status, headers);
  response.end(text);
}

/** Null when the rest did not come. */
async function readBody(
  request: IncomingMessage,
  { discards }: S3Options,
  half: boolean,
): Promise<StoredObject | null> {
  const announced = Number(request.headers['content-length'] ?? 0);
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.byteLength;
    hash.update(chunk);
    if (discards !== true || announced < 65_536) chunks.push(chunk);
    if (half && sizeBytes * 2 >= announced) return null;
  }
  if (sizeBytes !== announced) return null;
  const digest = hash.digest();
  const body = Buffer.concat(chunks);
  return { sizeBytes, sha256: digest.toString('hex'), checksum: digest.toString('base64'), body };
}

async function checkSignature(request: IncomingMessage, url: URL, { now = Date.now }: S3Options): Promise<void> {
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    );
  if (given === null) throw new Refused(403, 'AccessDenied');
  const [, accessKeyId, region = '', signed = '', signature] = given;
  if (accessKeyId !== ACCESS_KEY) throw new Refused(403, 'InvalidAccessKeyId');
  if (region !== REGION) throw new Refused(400, 'AuthorizationHeaderMalformed');
  const stamp = String(request.headers['x-amz-date']);
  const signingDate = new Date(stamp.replace(/^(....)(..)(..T..)(..)(..Z)$/, '$1-$2-$3:$4:$5'));
  if (Math.abs(signingDate.getTime() - now()) > 15 * 60_000) throw new Refused(403, 'RequestTimeTooSkewed');
  const headers = Object.fromEntries(signed.split(';').map((name) => [name, String(request.headers[name])]));
  const signer = new SignatureV4({
    service: 's3',
    region: REGION,
    credentials: { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY },
    uriEscapePath: false,
    sha256: Sha256,
  });
  const again = await signer.sign(
    {
      method: request.method ?? '',
      protocol: url.protocol,
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
    },
    { signingDate },
  );
  if (!again.headers.authorization?.endsWith(`Signature=${signature}`)) throw new Refused(403, 'SignatureDoesNotMatch');
}

/** What the other library hashes with. */
class Sha256 {
  #hash: Hash | Hmac;
  readonly #secret: unknown;

  constructor(secret?: unknown) {
    this.#secret = secret;
    this.#hash = this.#begin();
  }

  update(data: unknown): void {
    this.#hash.update(data as Buffer);
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#begin();
  }

  #begin(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret as Buffer);
  }
}

interface Acted {
  status?: number;
  headers?: Record<string, string | number>;
  text?: string | Buffer;
}

function act(
  store: S3Server,
  options: S3Options,
  { method, key, query }: SeenRequest,
  { body, request }: { body: StoredObject; request: IncomingHttpHeaders },
): Acted {
  const uploadId = query.get('uploadId');
  if (key === '')
    return { text: query.has('uploads') ? listUploads(store, query) : listObjects(store, options, query) };
  if (method === 'POST' && query.has('uploads')) {
    const id = randomUUID();
    store.uploads.set(id, { key, parts: new Map() });
    return { text: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>` };
  }
  if (uploadId !== null) return actOnParts(store, { method, query, uploadId }, body);
  if (method === 'PUT') {
    store.objects.set(key, body);
    return { headers: { etag: '"of-no-use"' } };
  }
  if (method === 'DELETE') {
    store.objects.delete(key);
    return { status: 204 };
  }
  const found = store.objects.get(key);
  if (found === undefined) throw new Refused(404, 'NoSuchKey');
  if (method === 'GET') return { text: found.body };
  const size = { 'content-length': store.sizeSaid(found.sizeBytes) };
  const asked = request['x-amz-checksum-mode'] === 'ENABLED';
  return { headers: asked ? { ...size, 'x-amz-checksum-sha256': found.checksum } : size };
}

function actOnParts(
  store: S3Server,
  { method, query, uploadId }: { method: string; query: URLSearchParams; uploadId: string },
  body: StoredObject,
): Acted {
  const upload = store.uploads.get(uploadId);
  if (upload === undefined) throw new Refused(404, 'NoSuchUpload');
  if (method === 'PUT') {
    upload.parts.set(Number(query.get('partNumber')), body);
    return { headers: { etag: `"${body.sha256.slice(0, 32)}"` } };
  }
  store.uploads.delete(uploadId);
  if (method === 'DELETE') return { status: 204 };
  const order = body.body.toString();
  const listed = [...order.matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>&?.*?([0-9a-f]{32}).*?<\/ETag>/g)];
  const parts = listed.map(([, number, etag]) => {
    const part = upload.parts.get(Number(number));
    if (part === undefined || !part.sha256.startsWith(etag ?? '?')) throw new Refused(400, 'InvalidPart');
    return part;
  });
  if (parts.slice(0, -1).some(({ sizeBytes }) => sizeBytes < SMALLEST_PART)) throw new Refused(400, 'EntityTooSmall');
  const whole = Buffer.concat(parts.map((part) => part.body));
  const ofParts = createHash('sha256');
  for (const { checksum } of parts) ofParts.update(Buffer.from(checksum, 'base64'));
  store.objects.set(upload.key, {
    sizeBytes: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    sha256: createHash('sha256').update(whole).digest('hex'),
    checksum: `${ofParts.digest('base64')}-${parts.length}`,
    body: whole,
  });
  return { text: '<CompleteMultipartUploadResult></CompleteMultipartUploadResult>' };
}

function listObjects({ objects }: S3Server, { pageSize = 1000 }: S3Options, query: URLSearchParams): string {
  const from = Number(query.get('continuation-token') ?? 0);
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '')).sort();
  const shown = keys.slice(from, from + pageSize).map((key) => `<Contents><Key>${escaped(key)}</Key></Contents>`);
  const next = from + pageSize < keys.length ? `<NextContinuationToken>${from + pageSize}</NextContinuationToken>` : '';
  return `<ListBucketResult>${shown.join('')}${next}</ListBucketResult>`;
}

function listUploads({ uploads }: S3Server, query: URLSearchParams): string {
  const shown = [...uploads]
    .filter(([, { key }]) => key.startsWith(query.get('prefix') ?? ''))
    .map(([id, { key }]) => `<Upload><Key>${escaped(key)}</Key><UploadId>${id}</UploadId></Upload>`);
  return `<ListMultipartUploadsResult>${shown.join('')}</ListMultipartUploadsResult>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&apos;');
}
