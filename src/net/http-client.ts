import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import type { Clock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { refusedLiteral } from './address-guard.ts';
import { attemptLimit } from './attempt-limit.ts';
import type { Route } from './dispatcher.ts';
import { DeadlineError, toOutboundError, unreachableError } from './outbound-errors.ts';
import { parseRetryAfter } from './retry-after.ts';

export interface HttpClientOptions extends Route {
  clock: Clock;
  /** Milliseconds for one request, from requesting a connection to the last byte; default: no limit. */
  timeoutMs?: number | undefined;
  /** Milliseconds until the headers of the response; default: no limit of its own. */
  headersTimeoutMs?: number | undefined;
  /** Maximum of milliseconds between two chunks of a body; default: no limit of its own. */
  idleTimeoutMs?: number | undefined;
  /** Sends all requests instead of the client's own connections; `close` leaves it open. */
  dispatcher?: Dispatcher | undefined;
}

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  url: URL;
  headers?: Record<string, string> | undefined;
  body?: string | Buffer | null | undefined;
  signal?: AbortSignal | undefined;
  /** Time limit for the response headers, in milliseconds; replaces that of the client. */
  headersTimeoutMs?: number | undefined;
  /** True to close the connection after the response. */
  isLast?: boolean | undefined;
}

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Milliseconds to wait according to the Retry-After header; null if it is absent or unreadable. */
  retryAfterMs: number | null;
  body: Dispatcher.ResponseData['body'];
}

/**
 * Sends requests through one route. It makes one attempt for each, follows no redirects, and keeps connections until
 * `close`. Opens none before the first request.
 */
export class HttpClient {
  readonly #options: HttpClientOptions;
  #agent: Promise<Dispatcher> | null = null;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request and returns the result of `read`, which reads the body or dumps it. Throws the reason of the signal,
   * OutboundError, the AppError of a fault of this machine, or an AppError from `read`.
   */
  async send<T>(request: HttpRequest, read: (response: HttpResponse) => Promise<T>): Promise<T> {
    const { clock, timeoutMs } = this.#options;
    const { signal } = request;
    this.#requirePermitted(request.url);
    const dispatcher = await this.#open();
    const limit = timeoutMs === undefined ? null : attemptLimit(clock, timeoutMs, signal);
    try {
      return await read(await this.#exchange(dispatcher, request, limit?.signal ?? signal));
    } catch (error) {
      signal?.throwIfAborted();
      if (timeoutMs !== undefined && limit?.signal.aborted === true) throw new DeadlineError(timeoutMs);
      throw toOutboundError(error);
    } finally {
      limit?.release();
    }
  }

  async #exchange(
    dispatcher: Dispatcher,
    request: HttpRequest,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    const { method, url, headers, body = null, headersTimeoutMs, isLast = false } = request;
    const { origin, pathname, search } = url;
    const response = await dispatcher.request({
      origin,
      path: `${pathname}${search}`,
      method,
      headers: headers ?? null,
      body,
      ...(isLast ? { reset: true } : {}),
      ...(headersTimeoutMs === undefined ? {} : { headersTimeout: headersTimeoutMs }),
      ...(signal === undefined ? {} : { signal }),
    });
    const [retryAfter] = [response.headers['retry-after'] ?? []].flat();
    return {
      status: response.statusCode,
      headers: response.headers,
      retryAfterMs: parseRetryAfter(retryAfter, this.#options.clock.now()),
      body: response.body,
    };
  }

  /** Connects to a server as a request does, and sends nothing. Throws OutboundError. */
  async connect(url: URL): Promise<void> {
    this.#requirePermitted(url);
    const dispatcher = await this.#open();
    const { clock, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const late = () => reject(unreachableError('UND_ERR_CONNECT_TIMEOUT'));
      const cancel = timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, late);
      const handler: Dispatcher.DispatchHandler = {
        // undici starts a request when its connection is open, before it writes a byte.
        onRequestStart(controller) {
          cancel();
          resolve();
          controller.abort(new Error('nothing is sent'));
        },
        onResponseError(_controller, error) {
          cancel();
          reject(toOutboundError(error));
        },
      };
      dispatcher.dispatch({ origin: url.origin, path: '/', method: 'HEAD' }, handler);
    });
  }

  /** Closes all connections and aborts running requests. */
  async close(): Promise<void> {
    const agent = await this.#agent;
    this.#agent = null;
    await agent?.destroy();
  }

  /** Judges a host that is an address itself: a proxy would connect to it without asking. */
  #requirePermitted(url: URL): void {
    const { policy } = this.#options;
    const refused = policy === undefined ? null : refusedLiteral(url.hostname, policy);
    if (refused !== null) throw refused;
  }

  #open(): Promise<Dispatcher> {
    const { dispatcher } = this.#options;
    if (dispatcher !== undefined) return Promise.resolve(dispatcher);
    this.#agent ??= this.#openAgent();
    return this.#agent;
  }

  async #openAgent(): Promise<Dispatcher> {
    // Loaded with the first request: undici takes longer to load than most commands take.
    const { openAgent } = await import('./dispatcher.ts');
    const { timeoutMs: connectTimeoutMs, headersTimeoutMs = 0, idleTimeoutMs = 0 } = this.#options;
    return openAgent(this.#options, { connectTimeoutMs, headersTimeoutMs, idleTimeoutMs });
  }
}

/** Connects to a server and sends nothing. Throws OutboundError. */
export async function tryConnection(url: URL, options: HttpClientOptions): Promise<void> {
  const client = new HttpClient(options);
  try {
    await client.connect(url);
  } finally {
    await client.close();
  }
}

/** Reads a body as text. Throws `response_too_long` for more bytes. */
export async function readText(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > maxBytes) {
      throw new AppError('response_too_long', `the response is longer than ${maxBytes} bytes`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Reads the first bytes of a body as text and discards the rest. */
export async function readStart(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= maxBytes) break;
  }
  return Buffer.concat(parts).subarray(0, maxBytes).toString('utf8');
}
