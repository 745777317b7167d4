import { createHash } from 'node:crypto';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { S3Access, S3Place } from '../config/types.ts';
import { type Clock, isoTime, sleep } from '../core/clock.ts';
import { systemFault } from '../core/errors.ts';
import { proxyAgentOptions } from '../core/net/proxy-options.ts';
import { ProxyRefusedError } from '../core/net/proxy-refusal.ts';
import { backoffMs } from '../core/net/retry.ts';
import {
  connectionError,
  proxyError,
  type Refusal,
  type RefusedRequest,
  refusalError,
  rightOf,
  S3Error,
} from './refusals.ts';

const MOST_ATTEMPTS = 5;
const BACKOFF = { baseMs: 500, maxMs: 8000 };
/** A part of 8 MiB over a slow line takes minutes; a service that has put large objects together answers late, too. */
const ANSWER_MS = 300_000;
const IDLE_MS = 60_000;
/** For what cleans up after a stop. */
const LAST_ANSWER_MS = 10_000;
const MAX_ERROR_BYTES = 64 * 1024;

export interface S3Request {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Of the object, below the place; null: the bucket itself. */
  name: string | null;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Buffer;
  /** SHA-256 of the body, which a service that keeps checksums keeps with it. */
  digest?: Buffer;
  /** Sent once, also after the stop. */
  cleansUp?: boolean;
}

export interface S3Way {
  place: S3Place;
  clock: Clock;
  signal: AbortSignal;
  answerMs?: number;
  /** How often a request is sent before its fault is told. */
  attempts?: number;
}

/** Makes something of an answer of 2xx. */
export type ReadAnswer<T> = (answer: Dispatcher.ResponseData) => Promise<T>;

/** Signed requests about one place in a bucket, each tried again while that may help. */
export class S3Client {
  readonly #way: S3Way;
  readonly #agent: Dispatcher;

  constructor(way: S3Way) {
    this.#way = way;
    this.#agent = openAgent(way);
  }

  /** @throws S3Error, and the signal's reason. */
  async send<T>(order: S3Request, read: ReadAnswer<T>): Promise<T> {
    const { clock, signal, attempts = MOST_ATTEMPTS } = this.#way;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#sendOnce(order, read);
      } catch (error) {
        if (order.cleansUp !== true) signal.throwIfAborted();
        const again = error instanceof S3Error && error.retryable && failures + 1 < attempts;
        if (!again || order.cleansUp === true) throw error;
        await sleep(clock, backoffMs(failures, BACKOFF), signal);
      }
    }
  }

  /** Whether the service keeps SHA-256 of objects: others refuse requests that speak of it. */
  get keepsChecksums(): boolean {
    return this.#way.place.access.endpoint === null;
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  /** The error for a refusal that comes in the body of an answer of 200. */
  lateRefusal(order: S3Request, code: string | null): S3Error {
    return refusalError(this.#described(order), { status: 500, code, region: null });
  }

  /** Such as `s3://bucket/prefix/name`. */
  addressOf(name: string | null): string {
    const { bucket, prefix } = this.#way.place;
    return name === null ? `s3://${bucket}` : `s3://${bucket}/${prefix}${name}`;
  }

  async #sendOnce<T>(order: S3Request, read: ReadAnswer<T>): Promise<T> {
    const { method, body, cleansUp } = order;
    const request = this.#described(order);
    const { url, headers } = await this.#sign(order);
    try {
      const answer = await this.#agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method,
        headers: Object.fromEntries(headers),
        body: body ?? null,
        ...(cleansUp === true ? { headersTimeout: LAST_ANSWER_MS } : { signal: this.#way.signal }),
      });
      if (answer.statusCode >= 200 && answer.statusCode < 300) return await read(answer);
      throw refusalError(request, await readRefusal(answer));
    } catch (error) {
      if (error instanceof S3Error) throw error;
      if (error instanceof ProxyRefusedError) throw proxyError(request.label, error);
      throw systemFault(error) ?? connectionError(request.label, error);
    }
  }

  #described(order: S3Request): RefusedRequest {
    const { method, name } = order;
    const { bucket, prefix } = this.#way.place;
    const place = name === null ? `s3://${bucket}` : `s3://${bucket}/${prefix}*`;
    return { label: `${method} ${this.addressOf(name)}`, right: rightOf(order), place };
  }

  #sign({ method, name, query = {}, headers = {}, body, digest }: S3Request): Promise<{ url: URL; headers: Headers }> {
    const { place, clock } = this.#way;
    const { access, bucket, prefix } = place;
    const key = name === null ? '' : `${prefix}${name}`;
    const signer = new AwsV4Signer({
      method,
      url: `${bucketUrl(access, bucket)}/${key.split('/').map(encoded).join('/')}${queryText(query)}`,
      headers: {
        ...headers,
        ...(digest === undefined || !this.keepsChecksums ? {} : { 'x-amz-checksum-sha256': digest.toString('base64') }),
        'x-amz-content-sha256': (digest ?? sha256(body ?? '')).toString('hex'),
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

export function sha256(body: Buffer | string): Buffer {
  return createHash('sha256').update(body).digest();
}

function openAgent({ place: { access }, answerMs = ANSWER_MS }: S3Way): Dispatcher {
  const tls = access.ca === null ? {} : { ca: access.ca };
  const common = { connect: tls, headersTimeout: answerMs, bodyTimeout: IDLE_MS };
  if (access.proxy === null) return new Agent(common);
  return new EnvHttpProxyAgent({ ...common, requestTls: tls, ...proxyAgentOptions(access.proxy) });
}

/** A bucket is a name of its own at Amazon; elsewhere, and where dots would spoil the certificate, a part of the path. */
function bucketUrl({ endpoint, region }: S3Access, bucket: string): string {
  const amazon = `s3.${region}.amazonaws.com`;
  if (endpoint !== null) return `${endpoint}/${bucket}`;
  return bucket.includes('.') ? `https://${amazon}/${bucket}` : `https://${bucket}.${amazon}`;
}

function queryText(query: Record<string, string>): string {
  const pairs = Object.entries(query).map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** As the signature is made of it: RFC 3986, which leaves fewer characters alone than JavaScript does. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function readRefusal({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Refusal> {
  let text = '';
  for await (const chunk of body) if (text.length < MAX_ERROR_BYTES) text += chunk;
  const region = [headers['x-amz-bucket-region'] ?? []].flat()[0] ?? textOf(text, 'Region');
  return {
    status: statusCode,
    code: /^\w{1,64}$/.exec(textOf(text, 'Code') ?? '')?.[0] ?? null,
    region: /^[\w-]{1,32}$/.exec(region ?? '')?.[0] ?? null,
  };
}

/** What each element of this name holds: more elements, or text as it is written. */
export function elementsOf(xml: string, name: string): string[] {
  const found = xml.matchAll(new RegExp(`<${name}>([^]*?)</${name}>`, 'g'));
  return [...found].map(([, inner = '']) => inner);
}

/** The text of the first element of this name; null where there is none. */
export function textOf(xml: string, name: string): string | null {
  const [first] = elementsOf(xml, name);
  return first === undefined ? null : unescaped(first);
}

export function element(name: string, text: string): string {
  return `<${name}>${text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`)}</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    return String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
  });
}
