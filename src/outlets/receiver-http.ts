import type { Dispatcher } from 'undici';
import { type Clock, sleep } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Redactor } from '../core/text/redact.ts';
import { HttpClient, readText } from '../net/http-client.ts';
import { OutboundError, reasonOf } from '../net/outbound-errors.ts';
import type { ProxySettings } from '../net/proxy.ts';
import type { SendOutcome } from './receiver.ts';

export interface ReceiverHttpOptions {
  url: string;
  allowPrivate: boolean;
  timeoutMs: number;
  ca?: string | undefined;
  proxy: ProxySettings | null;
  redact: Redactor;
  clock: Clock;
  /**
   * If set, this dispatcher sends all requests, and the client opens no connections of its own. `close` does not close
   * the dispatcher.
   */
  dispatcher?: Dispatcher | undefined;
}

export interface ReceiverRequest {
  method: 'GET' | 'POST';
  /** The base URL, if the receiver accepts events on another host. Default: the outlet's `url`. */
  base?: string;
  /** Path and query, appended to the base URL. */
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

export type ReceiverAnswer =
  /**
   * `retryAfterMs`: the delay in the Retry-After header; null if there is none. `body` is raw: pass it through
   * `displayText` before showing or storing it.
   */
  | { status: number; body: string; retryAfterMs: number | null }
  /** There was no answer. `certain` is true if the receiver certainly did not get the request. */
  | { status: null; fault: string; certain: boolean };

/** The dependencies of every receiver type. */
export interface ReceiverDeps {
  /** Makes requests with the outlet's `url`, proxy, certificates and timeout. It limits the size of answers. */
  http: ReceiverHttp;
  clock: Clock;
  /** The id of the ledger, which is the `source` of its events. */
  ledgerId: string;
}

const MAX_RECEIVER_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_SHOWN_CHARACTERS = 300;
/** Maximum number of retries of a read request that the receiver answers with status 429. */
const MAX_READ_RETRIES = 10;
const DEFAULT_READ_RETRY_MS = 1000;
const MAX_READ_RETRY_MS = 30_000;
const MAX_RETRY_AFTER_MS = 60 * 60_000;

/**
 * An HTTP client for one outlet. It reuses connections, follows no redirects, and never shows headers in error
 * messages.
 */
export class ReceiverHttp {
  readonly #options: ReceiverHttpOptions;
  readonly #client: HttpClient;

  constructor(options: ReceiverHttpOptions) {
    const { allowPrivate, timeoutMs, ca, proxy, clock, dispatcher } = options;
    this.#options = options;
    this.#client = new HttpClient({ policy: { allowPrivate }, timeoutMs, ca, proxy, clock, dispatcher });
  }

  /** Makes one request without retries. Never rejects: a network error is returned as an answer without a status. */
  async call(
    { method, base, path = '', headers = {}, body }: ReceiverRequest,
    signal: AbortSignal,
  ): Promise<ReceiverAnswer> {
    const url = new URL(`${base ?? this.#options.url}${path}`);
    const request = { method, url, headers: { 'user-agent': 'usage-ledger', ...headers }, body, signal };
    try {
      return await this.#client.send(request, async (response) => {
        const text = await readText(response.body, MAX_RECEIVER_ANSWER_BYTES);
        const { status, retryAfterMs } = response;
        return {
          status,
          body: text,
          retryAfterMs: retryAfterMs === null ? null : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS),
        };
      });
    } catch (error) {
      return noAnswer(error);
    }
  }

  /** Returns an answer's text for display: redacted, on one line, and truncated. */
  displayText(text: string): string {
    const line = this.#options
      .redact(text)
      .replaceAll(/[\s\p{C}]+/gu, ' ')
      .trim();
    return line.length > MAX_SHOWN_CHARACTERS ? `${line.slice(0, MAX_SHOWN_CHARACTERS)}…` : line;
  }

  /**
   * Converts an answer into the outcome of the events that were sent with the request, by the usual meaning of the HTTP
   * status.
   */
  outcomeOf(answer: ReceiverAnswer): SendOutcome {
    if (answer.status === null) return { is: 'retry', answer: answer.fault, certain: answer.certain, afterMs: null };
    const { status, retryAfterMs } = answer;
    if (status >= 200 && status < 300) return { is: 'accepted' };
    const text = `HTTP ${status} ${this.displayText(answer.body)}`.trim();
    if (status === 401 || status === 403) return { is: 'unauthorized', answer: text };
    // A proxy that is set up wrongly answers with 404 or a redirect, so neither status means that an event was refused.
    if (status === 429 || status === 404 || status < 400) {
      return { is: 'retry', answer: text, certain: true, afterMs: retryAfterMs };
    }
    if (status === 408 || status >= 500) return { is: 'retry', answer: text, certain: false, afterMs: retryAfterMs };
    return { is: 'refused', answer: text };
  }

  /**
   * Makes a read request and returns the body of the answer. Throws the errors of `Receiver.probe` if the status is not
   * 2xx.
   */
  async fetchBody(call: ReceiverRequest, signal: AbortSignal): Promise<string> {
    return this.requireBody(await this.callWithRetries(call, signal));
  }

  /**
   * Makes a read request and repeats it after status 429. Comparing a month with many customers may exceed the
   * receiver's rate limit.
   */
  async callWithRetries(call: ReceiverRequest, signal: AbortSignal): Promise<ReceiverAnswer> {
    const { clock } = this.#options;
    for (let waits = 0; ; waits += 1) {
      const answer = await this.call(call, signal);
      if (answer.status !== 429 || waits === MAX_READ_RETRIES) return answer;
      await sleep(clock, Math.min(answer.retryAfterMs ?? DEFAULT_READ_RETRY_MS, MAX_READ_RETRY_MS), signal);
    }
  }

  /** Returns the body of a 2xx answer. Throws the errors of `Receiver.probe` for any other answer. */
  requireBody(answer: ReceiverAnswer): string {
    const outcome = this.outcomeOf(answer);
    if (outcome.is === 'accepted' && answer.status !== null) return answer.body;
    if (outcome.is === 'unauthorized') {
      const hint = 'check the credentials of the outlet and their permissions';
      throw new AppError('outlet_unauthorized', `the receiver refused the credentials: ${outcome.answer}`, { hint });
    }
    throw new AppError('outlet_unreachable', 'answer' in outcome ? outcome.answer : 'no usable answer', {
      retryable: outcome.is === 'retry',
      hint: 'check the url of the outlet, the network and proxy, and that the receiver runs',
    });
  }

  /** Closes all connections and aborts running requests. */
  close(): Promise<void> {
    return this.#client.close();
  }
}

function noAnswer(error: unknown): ReceiverAnswer {
  const fault = error instanceof AppError ? reasonOf(error) : 'the request was cancelled';
  return { status: null, fault, certain: error instanceof OutboundError && error.neverSent };
}
