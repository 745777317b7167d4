import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import type { S3Access, S3Place } from '../config/types.ts';
import { backoffMs } from '../core/backoff.ts';
import { type Clock, isoTime, sleep } from '../core/clock.ts';
import { HttpClient, type HttpResponse, readStart } from '../net/http-client.ts';
import { OutboundError } from '../net/outbound-errors.ts';
import {
  noResponseError,
  type RefusedRequest,
  requiredPermission,
  S3Error,
  type S3Refusal,
  toRefusalError,
} from './refusals.ts';

const MAX_S3_ATTEMPTS = 5;
const BACKOFF = { baseMs: 500, maxMs: 8000 };
/**
 * Time limit for a response. Sending a part of 8 MiB over a slow line takes minutes; completing a large object does,
 * too.
 */
const RESPONSE_TIMEOUT_MS = 300_000;
const IDLE_TIMEOUT_MS = 60_000;
/** Time limit for a response to a request that cleans up. It is short, because the program may be stopping. */
const CLEANUP_TIMEOUT_MS = 10_000;
const MAX_ERROR_BYTES = 64 * 1024;

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Name of the object below the prefix; null for the bucket itself. */
  name: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer;
  /** SHA-256 of the body. It is sent to services that store checksums. */
  digest?: Buffer;
  /** True for a request that cleans up: it is sent even while the program stops, and is not retried. */
  isCleanup?: boolean;
}

export interface S3Connection {
  place: S3Place;
  clock: Clock;
  signal: AbortSignal;
  responseTimeoutMs?: number;
  /** Maximum number of attempts for a request. */
  attempts?: number;
}

/** A function that reads a response with status 2xx. */
export type ResponseReader<T> = (response: HttpResponse) => Promise<T>;

/** A client that sends signed requests about one bucket and retries temporary failures. */
export class S3Client {
  readonly #connection: S3Connection;
  readonly #http: HttpClient;

  constructor(connection: S3Connection) {
    const { place, clock, responseTimeoutMs = RESPONSE_TIMEOUT_MS } = connection;
    const { ca, proxy } = place.access;
    this.#connection = connection;
    this.#http = new HttpClient({
      ca,
      proxy,
      clock,
      headersTimeoutMs: responseTimeoutMs,
      idleTimeoutMs: IDLE_TIMEOUT_MS,
    });
  }

  /** Sends a request, with retries, and returns the result of `read`. Throws S3Error, or the reason of the signal. */
  async send<T>(request: S3Request, read: ResponseReader<T>): Promise<T> {
    const { clock, signal, attempts = MAX_S3_ATTEMPTS } = this.#connection;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#sendOnce(request, read);
      } catch (error) {
        if (request.isCleanup !== true) signal.throwIfAborted();
        const canRetry = error instanceof S3Error && error.retryable && failures + 1 < attempts;
        if (!canRetry || request.isCleanup === true) throw error;
        await sleep(clock, backoffMs(failures, BACKOFF), signal);
      }
    }
  }

  /** True for Amazon S3, which stores SHA-256 checksums. Other services may reject requests with checksums. */
  get hasChecksums(): boolean {
    return this.#connection.place.access.endpoint === null;
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /** Returns the error for a refusal in the body of a response with status 200. */
  lateRefusal(request: S3Request, code: string | null): S3Error {
    return toRefusalError(this.#described(request), { status: 500, code, region: null });
  }

  /** Returns the address of an object, such as `s3://bucket/prefix/name`; of the bucket if the name is null. */
  addressOf(name: string | null): string {
    const { bucket, prefix } = this.#connection.place;
    return name === null ? `s3://${bucket}` : `s3://${bucket}/${prefix}${name}`;
  }

  async #sendOnce<T>(request: S3Request, read: ResponseReader<T>): Promise<T> {
    const { method, body, isCleanup } = request;
    const words = this.#described(request);
    const { url, headers } = await this.#sign(request);
    const sent = {
      method,
      url,
      headers: Object.fromEntries(headers),
      body,
      signal: isCleanup === true ? undefined : this.#connection.signal,
      headersTimeoutMs: isCleanup === true ? CLEANUP_TIMEOUT_MS : undefined,
    };
    try {
      return await this.#http.send(sent, async (response) => {
        if (response.status >= 200 && response.status < 300) return read(response);
        throw toRefusalError(words, await readRefusal(response));
      });
    } catch (error) {
      throw error instanceof OutboundError ? noResponseError(words.label, error) : error;
    }
  }

  #described(request: S3Request): RefusedRequest {
    const { method, name } = request;
    const { bucket, prefix } = this.#connection.place;
    const place = name === null ? `s3://${bucket}` : `s3://${bucket}/${prefix}*`;
    return { label: `${method} ${this.addressOf(name)}`, permission: requiredPermission(request), place };
  }

  #sign({ method, name, query = {}, headers = {}, body, digest }: S3Request): Promise<{ url: URL; headers: Headers }> {
    const { place, clock } = this.#connection;
    const { access, bucket, prefix } = place;
    const key = name === null ? '' : `${prefix}${name}`;
    const signer = new AwsV4Signer({
      method,
      url: `${bucketUrl(access, bucket)}/${key.split('/').map(percentEncode).join('/')}${formatQuery(query)}`,
      headers: {
        ...headers,
        ...(digest === undefined || !this.hasChecksums ? {} : { 'x-amz-checksum-sha256': digest.toString('base64') }),
        'x-amz-content-sha256': (digest ?? sha256Of(body ?? '')).toString('hex'),
      },
      accessKeyId: access.accessKeyId,
      secretAccessKey: access.secretAccessKey,
      service: 's3',
      region: access.region,
      datetime: isoTime(clock.now()).replaceAll(/[-:]|\.\d{3}/g, ''),
    });
    return signer.sign();
  }
}

export function sha256Of(body: Buffer | string): Buffer {
  return createHash('sha256').update(body).digest();
}

/**
 * Returns the URL of a bucket. At Amazon the bucket's name is part of the host name; at other services it is part of
 * the path. A name with dots is part of the path at Amazon, too, because the certificate would not match the host name.
 */
function bucketUrl({ endpoint, region }: S3Access, bucket: string): string {
  const amazon = `s3.${region}.amazonaws.com`;
  if (endpoint !== null) return `${endpoint}/${bucket}`;
  return bucket.includes('.') ? `https://${amazon}/${bucket}` : `https://${bucket}.${amazon}`;
}

function formatQuery(query: Record<string, string>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** Percent-encodes text by RFC 3986, as signatures require. JavaScript's own function escapes fewer characters. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function readRefusal({ status, headers, body }: HttpResponse): Promise<S3Refusal> {
  const text = await readStart(body, MAX_ERROR_BYTES);
  const region = [headers['x-amz-bucket-region'] ?? []].flat()[0] ?? xmlElementText(text, 'Region');
  return {
    status,
    code: /^\w{1,64}$/.exec(xmlElementText(text, 'Code') ?? '')?.[0] ?? null,
    region: /^[\w-]{1,32}$/.exec(region ?? '')?.[0] ?? null,
  };
}

/** Returns the content of each xmlElement with this name, as undecoded XML. */
export function xmlElements(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'g'));
  return [...found].map(([, inner = '']) => inner);
}

/** Returns the text of the first xmlElement with this name; null if there is none. */
export function xmlElementText(xml: string, name: string): string | null {
  const [first] = xmlElements(xml, name);
  return first === undefined ? null : decodeXmlEntities(first);
}

/** Formats an XML xmlElement. */
export function xmlElement(name: string, text: string): string {
  return `<${name}>${text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`)}</${name}>`;
}

const XML_ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decodeXmlEntities(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return XML_ENTITIES[name] ?? whole;
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });
}
