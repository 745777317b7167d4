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
  /**
   * The time limit in milliseconds for a whole request, from asking for a connection to the last byte; default: no
   * limit.
   */
  timeoutMs?: number | undefined;
  /** The time limit in milliseconds for the headers of the response; default: only `timeoutMs` applies. */
  headersTimeoutMs?: number | undefined;
  /** The longest time between two chunks of a body, in milliseconds; default: only `timeoutMs` applies. */
  idleTimeoutMs?: number | undefined;
  /** Sends all requests, in place of connections that the client opens itself. `close` does not close it. */
  dispatcher?: Dispatcher | undefined;
}

export interface HttpRequest {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  url: URL;
  headers?: Record<string, string> | undefined;
  body?: string | Buffer | null | undefined;
  signal?: AbortSignal | undefined;
  /**
   * The time limit in milliseconds for the headers of the response. It replaces the limit of the client for this
   * request.
   */
  headersTimeoutMs?: number | undefined;
  /** True to close the connection after the response. */
  isLast?: boolean | undefined;
}

export interface HttpResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /**
   * The time to wait in milliseconds according to the Retry-After header; null if the header is absent or unreadable.
   */
  retryAfterMs: number | null;
  body: Dispatcher.ResponseData['body'];
}

/**
 * Sends requests through one route. The client tries each request once and follows no redirects. It opens no connection
 * before the first request, and keeps connections open until `close`.
 */
export class HttpClient {
  readonly #options: HttpClientOptions;
  #agent: Promise<Dispatcher> | null = null;

  constructor(options: HttpClientOptions) {
    this.#options = options;
  }

  /**
   * Sends a request and returns the result of `read`. `read` must read the body of the response or discard it. Throws
   * the signal's reason if the signal aborted; OutboundError if there was no complete response; an AppError for a fault
   * of this machine, such as a full disk; and any AppError that `read` throws.
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

  /**
   * Connects to a server in the same way as for a request, but sends no request. Throws OutboundError if the connection
   * fails.
   */
  async connect(url: URL): Promise<void> {
    this.#requirePermitted(url);
    const dispatcher = await this.#open();
    const { clock, timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const late = () => reject(unreachableError('UND_ERR_CONNECT_TIMEOUT'));
      const cancel = timeoutMs === undefined ? () => undefined : clock.after(timeoutMs, late);
      const handler: Dispatcher.DispatchHandler = {
        // undici calls this when the connection is open and before it writes any byte of the request.
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

  /**
   * Throws AddressRefusedError for a host that is an IP address and not allowed. The check must be here, because a
   * proxy would connect to the address without any check.
   */
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
    // undici is loaded with the first request, because loading it takes longer than most commands run.
    const { openAgent } = await import('./dispatcher.ts');
    const { timeoutMs: connectTimeoutMs, headersTimeoutMs = 0, idleTimeoutMs = 0 } = this.#options;
    return openAgent(this.#options, { connectTimeoutMs, headersTimeoutMs, idleTimeoutMs });
  }
}

/** Connects to a server, sends nothing and closes the connection. Throws OutboundError if the connection fails. */
export async function tryConnection(url: URL, options: HttpClientOptions): Promise<void> {
  const client = new HttpClient(options);
  try {
    await client.connect(url);
  } finally {
    await client.close();
  }
}

/** Reads a body as text. Throws an AppError with the code `response_too_long` if the body is longer than `maxBytes`. */
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

/** Reads at most the first `maxBytes` bytes of a body as text and discards the rest. */
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
