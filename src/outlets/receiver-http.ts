import type { Agent, Dispatcher, EnvHttpProxyAgent } from 'undici';
import { trustHint } from '../alerts/channels/post-json.ts';
import { type Clock, sleep } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Redactor } from '../core/text/redact.ts';
import { AddressRefusedError, refusedLiteral } from '../net/address-guard.ts';
import { attemptLimit } from '../net/attempt-limit.ts';
import type { ProxySettings } from '../net/proxy.ts';
import { ProxyRefusedError } from '../net/proxy-refusal.ts';
import { parseRetryAfter } from '../net/retry-after.ts';
import type { Outcome } from './receiver.ts';

export interface HttpOptions {
  url: string;
  allowPrivate: boolean;
  timeoutMs: number;
  ca?: string | undefined;
  proxy: ProxySettings | null;
  redact: Redactor;
  clock: Clock;
  /** Sends all requests instead of an own agent; `close` does not close it. */
  dispatcher?: Dispatcher | undefined;
}

export interface ReceiverCall {
  method: 'GET' | 'POST';
  /** Base URL for a receiver that accepts events on another host; the default is the outlet's `url`. */
  base?: string;
  /** Path and query, appended to the base URL. */
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

export type Answer =
  /** `retryAfterMs`: from the Retry-After header. `body` is raw: pass it through `displayText` before showing or storing it. */
  | { status: number; body: string; retryAfterMs: number | null }
  /** No answer. `certain`: the receiver certainly did not get the request. */
  | { status: null; fault: string; certain: boolean };

/** The dependencies of every receiver type. */
export interface ReceiverDeps {
  /** Makes requests with the outlet's `url`, proxy, certificates and timeout. The size of answers is limited. */
  http: ReceiverHttp;
  clock: Clock;
  /** The id of the ledger: the `source` of its events. */
  ledgerId: string;
}

const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const MAX_SHOWN_CHARACTERS = 300;
/** Retries of a read after status 429. */
const MAX_READ_RETRIES = 10;
const DEFAULT_READ_RETRY_MS = 1000;
const MAX_READ_RETRY_MS = 30_000;
const MAX_RETRY_AFTER_MS = 60 * 60_000;
/** Error codes that prove that no request was sent. */
const NOTHING_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_)/;

/** An HTTP client for one outlet. It keeps connections, follows no redirects, and quotes no headers in errors. */
export class ReceiverHttp {
  readonly #options: HttpOptions;
  #agent: Agent | EnvHttpProxyAgent | null = null;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** Makes one request without retries. Never rejects: network errors are answers, too. */
  async call({ method, base, path = '', headers = {}, body }: ReceiverCall, signal: AbortSignal): Promise<Answer> {
    const { url, allowPrivate, timeoutMs, clock } = this.#options;
    const { guardedAgent } = await import('../net/dispatcher.ts');
    const target = new URL(`${base ?? url}${path}`);
    const refused = refusedLiteral(target.hostname, { allowPrivate });
    if (refused !== null) return noAnswer(refused);
    this.#agent ??= guardedAgent({ allowPrivate }, this.#options);
    const limit = attemptLimit(clock, timeoutMs, signal);
    try {
      const answer = await (this.#options.dispatcher ?? this.#agent).request({
        origin: target.origin,
        path: `${target.pathname}${target.search}`,
        method,
        headers: { 'user-agent': 'usage-ledger', ...headers },
        body: body ?? null,
        signal: limit.signal,
      });
      const after = parseRetryAfter([answer.headers['retry-after'] ?? []].flat()[0], clock.now());
      const text = await textOf(answer.body);
      const retryAfterMs = after === null ? null : Math.min(after, MAX_RETRY_AFTER_MS);
      return { status: answer.statusCode, body: text, retryAfterMs };
    } catch (error) {
      if (!signal.aborted && limit.signal.aborted) {
        return { status: null, fault: `no answer within ${timeoutMs} ms`, certain: false };
      }
      return noAnswer(error);
    } finally {
      limit.release();
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

  /** Converts an answer into the outcome of the events sent, by the usual meaning of the HTTP status. */
  outcomeOf(answer: Answer): Outcome {
    if (answer.status === null) return { is: 'retry', answer: answer.fault, certain: answer.certain, afterMs: null };
    const { status, retryAfterMs } = answer;
    if (status >= 200 && status < 300) return { is: 'accepted' };
    const text = `HTTP ${status} ${this.displayText(answer.body)}`.trim();
    if (status === 401 || status === 403) return { is: 'unauthorised', answer: text };
    // A broken ingress answers with 404 or a redirect, so neither is a verdict on an event.
    if (status === 429 || status === 404 || status < 400) {
      return { is: 'retry', answer: text, certain: true, afterMs: retryAfterMs };
    }
    if (status === 408 || status >= 500) return { is: 'retry', answer: text, certain: false, afterMs: retryAfterMs };
    return { is: 'refused', answer: text };
  }

  /** Makes a read request and returns its body. Raises the errors of `Receiver.probe` unless the status is 2xx. */
  async ask(call: ReceiverCall, signal: AbortSignal): Promise<string> {
    return this.requireBody(await this.callRetrying(call, signal));
  }

  /** Makes a read request and retries it after status 429: comparing a month takes a request for each customer. */
  async callRetrying(call: ReceiverCall, signal: AbortSignal): Promise<Answer> {
    const { clock } = this.#options;
    for (let waits = 0; ; waits += 1) {
      const answer = await this.call(call, signal);
      if (answer.status !== 429 || waits === MAX_READ_RETRIES) return answer;
      await sleep(clock, Math.min(answer.retryAfterMs ?? DEFAULT_READ_RETRY_MS, MAX_READ_RETRY_MS), signal);
    }
  }

  /** Returns the body of a 2xx answer. Raises like `ask` for any other. */
  requireBody(answer: Answer): string {
    const outcome = this.outcomeOf(answer);
    if (outcome.is === 'accepted' && answer.status !== null) return answer.body;
    if (outcome.is === 'unauthorised') {
      const hint = 'check the credentials of the outlet and their permissions';
      throw new AppError('outlet_unauthorised', `the receiver refused the credentials: ${outcome.answer}`, { hint });
    }
    throw new AppError('outlet_unreachable', 'answer' in outcome ? outcome.answer : 'no usable answer', {
      retryable: outcome.is === 'retry',
      hint: 'check the url of the outlet, the network and proxy, and that the receiver runs',
    });
  }

  /** Closes all connections and aborts running requests. */
  async close(): Promise<void> {
    await this.#agent?.destroy();
    this.#agent = null;
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES)
      throw new AppError('answer_too_long', `the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function noAnswer(error: unknown): Answer {
  if (error instanceof AddressRefusedError) {
    const fault = `${error.message}; set \`allow_private: true\` on the outlet if the address is yours`;
    return { status: null, fault, certain: true };
  }
  if (error instanceof ProxyRefusedError) {
    return { status: null, fault: `${error.message}; ${error.hint}`, certain: true };
  }
  // Only the code: messages may quote the request.
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const certain = NOTHING_SENT.test(code) || trustHint(code) !== '';
  return { status: null, fault: `no connection or no answer (${code})${trustHint(code)}`, certain };
}
