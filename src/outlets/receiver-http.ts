import type { Agent, Dispatcher, EnvHttpProxyAgent } from 'undici';
import { AddressRefusedError, refusedLiteral } from '../alerts/channels/outbound/guarded-connect.ts';
import { trustHint } from '../alerts/channels/outbound/post-json.ts';
import { type Clock, sleep } from '../core/clock.ts';
import { attemptLimit } from '../core/deadline.ts';
import { AppError } from '../core/errors.ts';
import type { ProxySettings } from '../core/net/proxy-options.ts';
import { ProxyRefusedError } from '../core/net/proxy-refusal.ts';
import { parseRetryAfter } from '../core/net/retry.ts';
import type { Redactor } from '../core/text/redact.ts';
import type { Outcome } from './receiver.ts';

export interface HttpOptions {
  url: string;
  allowPrivate: boolean;
  timeoutMs: number;
  ca?: string | undefined;
  proxy: ProxySettings | null;
  redact: Redactor;
  clock: Clock;
  /** Sends all requests instead of connections of our own; it stays open. */
  dispatcher?: Dispatcher | undefined;
}

export interface ReceiverCall {
  method: 'GET' | 'POST';
  /** Instead of the outlet's `url`, for a receiver that takes events at another host. */
  base?: string;
  /** Appended to the address; with its query. */
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

export type Answer =
  /** `retryAfterMs`: as a Retry-After says. `body` is the text as it came: nothing of it is shown or kept but by `shown`. */
  | { status: number; body: string; retryAfterMs: number | null }
  /** No answer. `certain`: the receiver has not got the request. */
  | { status: null; fault: string; certain: boolean };

/** What each type is made with, beside its own settings. */
export interface ReceiverDeps {
  /** Makes requests by the outlet's `url`, proxy, certificates and timeout; answers are read up to a bound and redacted. */
  http: ReceiverHttp;
  clock: Clock;
  /** The id of the ledger: the `source` of its events. */
  ledgerId: string;
}

const MOST_ANSWER_BYTES = 4 * 1024 * 1024;
const SHOWN_CHARACTERS = 300;
/** Of a question that is one too many. */
const MOST_WAITS = 10;
const USUAL_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
const LONGEST_RETRY_AFTER_MS = 60 * 60_000;
const NOTHING_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS_)/;

/** The requests of one outlet. Connections are kept; redirects are not followed; no error quotes a header. */
export class ReceiverHttp {
  readonly #options: HttpOptions;
  #agent: Agent | EnvHttpProxyAgent | null = null;

  constructor(options: HttpOptions) {
    this.#options = options;
  }

  /** One request, once. Never rejects for what becomes of it. */
  async call({ method, base, path = '', headers = {}, body }: ReceiverCall, signal: AbortSignal): Promise<Answer> {
    const { url, allowPrivate, timeoutMs, clock } = this.#options;
    const { guardedAgent } = await import('../alerts/channels/outbound/guarded-agent.ts');
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
      const retryAfterMs = after === null ? null : Math.min(after, LONGEST_RETRY_AFTER_MS);
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

  /** What a person may see of an answer: redacted, on one line, and short. */
  shown(text: string): string {
    const line = this.#options
      .redact(text)
      .replaceAll(/[\s\p{C}]+/gu, ' ')
      .trim();
    return line.length > SHOWN_CHARACTERS ? `${line.slice(0, SHOWN_CHARACTERS)}…` : line;
  }

  /** What an answer means for what was sent, where its receiver has no other meaning for its status. */
  outcomeOf(answer: Answer): Outcome {
    if (answer.status === null) return { is: 'again', answer: answer.fault, certain: answer.certain, afterMs: null };
    const { status, retryAfterMs } = answer;
    if (status >= 200 && status < 300) return { is: 'taken' };
    const said = `HTTP ${status} ${this.shown(answer.body)}`.trim();
    if (status === 401 || status === 403) return { is: 'unauthorised', answer: said };
    // A broken ingress answers 404 and redirects: neither says anything about an event.
    if (status === 429 || status === 404 || status < 400) {
      return { is: 'again', answer: said, certain: true, afterMs: retryAfterMs };
    }
    if (status === 408 || status >= 500) return { is: 'again', answer: said, certain: false, afterMs: retryAfterMs };
    return { is: 'refused', answer: said };
  }

  /** The answer of a question, with a status from 200 to 299; raises what `Receiver.probe` raises for any other. */
  async ask(call: ReceiverCall, signal: AbortSignal): Promise<string> {
    return this.usable(await this.question(call, signal));
  }

  /** A call that changes nothing, and waits as long as it is one too many: a month of many customers is many of them. */
  async question(call: ReceiverCall, signal: AbortSignal): Promise<Answer> {
    const { clock } = this.#options;
    for (let waits = 0; ; waits += 1) {
      const answer = await this.call(call, signal);
      if (answer.status !== 429 || waits === MOST_WAITS) return answer;
      await sleep(clock, Math.min(answer.retryAfterMs ?? USUAL_WAIT_MS, LONGEST_WAIT_MS), signal);
    }
  }

  /** What an answer says, as `ask` does. */
  usable(answer: Answer): string {
    const outcome = this.outcomeOf(answer);
    if (outcome.is === 'taken' && answer.status !== null) return answer.body;
    if (outcome.is === 'unauthorised') {
      const hint = 'check the credentials of the outlet, and what they may do';
      throw new AppError('outlet_unauthorised', `it refuses the credentials: ${outcome.answer}`, { hint });
    }
    throw new AppError('outlet_unreachable', 'answer' in outcome ? outcome.answer : 'no usable answer', {
      retryable: outcome.is === 'again',
      hint: 'check the address of the outlet, the network and proxy between, and that the receiver runs',
    });
  }

  /** Closes the connections; those under way are cut. */
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
    if (bytes > MOST_ANSWER_BYTES)
      throw new AppError('answer_too_long', `an answer of over ${MOST_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function noAnswer(error: unknown): Answer {
  if (error instanceof AddressRefusedError) {
    const fault = `${error.message}; set \`allow_private: true\` on the outlet if that place is yours`;
    return { status: null, fault, certain: true };
  }
  if (error instanceof ProxyRefusedError) {
    return { status: null, fault: `${error.message}; ${error.hint}`, certain: true };
  }
  // The code alone: messages may quote what was sent.
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const certain = NOTHING_SENT.test(code) || trustHint(code) !== '';
  return { status: null, fault: `no connection or no answer (${code})${trustHint(code)}`, certain };
}
