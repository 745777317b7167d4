import type { Clock } from '../../core/clock.ts';
import { AddressRefusedError, type OutboundPolicy, refusedLiteral } from '../../net/address-guard.ts';
import { attemptLimit } from '../../net/attempt-limit.ts';
import type { ProxySettings } from '../../net/proxy.ts';
import { ProxyRefusedError } from '../../net/proxy-refusal.ts';
import { parseRetryAfter } from '../../net/retry-after.ts';
import type { Failure, ReadBody } from './accepted-bodies.ts';
import type { DeliveryResult } from './channel.ts';

export interface JsonPost {
  url: URL;
  headers: Record<string, string>;
  body: string;
  policy: OutboundPolicy;
  timeoutMs: number;
  /** Certificates (PEM) that count instead of the public ones. */
  ca?: string | undefined;
  proxy?: ProxySettings | null | undefined;
  clock: Clock;
  signal: AbortSignal;
  /** Reads the body of an answer of 2xx, for a receiver whose status alone proves nothing. */
  readBody?: ReadBody | undefined;
}

const ANSWER_BYTES = 4096;

/**
 * Posts JSON once and says what became of it: by the status of the answer, and by its body where `readBody` is given.
 * Redirects are not followed.
 */
export async function postJson(post: JsonPost): Promise<DeliveryResult> {
  // Loaded with the first notification only: every command would pay for it at its start.
  const { guardedAgent } = await import('../../net/dispatcher.ts');
  const limit = attemptLimit(post.clock, post.timeoutMs, post.signal);
  // Notifications are rare: a connection kept since the last one is likely dead when it is needed.
  const dispatcher = guardedAgent(post.policy, post);
  try {
    const refused = refusedLiteral(post.url.hostname, post.policy);
    if (refused !== null) return refusedAddress(refused);
    const { origin, pathname, search } = post.url;
    const answer = await dispatcher.request({
      origin,
      path: `${pathname}${search}`,
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': 'usage-ledger', ...post.headers },
      body: post.body,
      reset: true,
      signal: limit.signal,
    });
    const retryAfter = [answer.headers['retry-after'] ?? []].flat()[0];
    const result = webhookOutcome(answer.statusCode, retryAfter, post.clock.now());
    if (post.readBody !== undefined && result.outcome === 'delivered') {
      return readResult(result, post.readBody(await startOf(answer.body)), { retryAfter, nowMs: post.clock.now() });
    }
    // The status has decided; whether the rest of the answer arrives in time changes nothing.
    await answer.body.dump({ limit: ANSWER_BYTES });
    return result;
  } catch (error) {
    if (post.signal.aborted) return { outcome: 'cancelled' };
    if (limit.signal.aborted) {
      return { outcome: 'retry', reason: `no answer within ${post.timeoutMs} ms`, retryAfterMs: null, unknown: true };
    }
    return failedRequest(error);
  } finally {
    limit.release();
    void dispatcher.close();
  }
}

/** As many bytes of a body as a failure takes. */
async function startOf(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    parts.push(part);
    bytes += part.length;
    if (bytes >= ANSWER_BYTES) break;
  }
  return Buffer.concat(parts).subarray(0, ANSWER_BYTES).toString('utf8');
}

function readResult(
  delivered: DeliveryResult,
  failure: Failure | null,
  { retryAfter, nowMs }: { retryAfter: string | undefined; nowMs: number },
): DeliveryResult {
  if (failure === null) return delivered;
  if ('outcome' in failure) return failure;
  const { reason, status } = failure;
  const meant = webhookOutcome(status, retryAfter, nowMs);
  // A status of 2xx or 3xx inside a failure means nothing.
  if (meant.outcome === 'delivered') return { outcome: 'rejected', reason };
  return 'reason' in meant ? { ...meant, reason } : meant;
}

/** Only the error's code is told: messages may quote headers, and with them the signature. */
function failedRequest(error: unknown): DeliveryResult {
  if (error instanceof AddressRefusedError) return refusedAddress(error);
  if (error instanceof ProxyRefusedError) {
    const { message, hint, isDenial } = error;
    return { outcome: 'retry', reason: `${message}; ${hint}`, retryAfterMs: null, unknown: false, isDenial };
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'UND_ERR_INVALID_ARG') return { outcome: 'rejected', reason: `the request cannot be built (${code})` };
  return {
    outcome: 'retry',
    reason: `no connection or no answer (${code})${trustHint(code)}`,
    retryAfterMs: null,
    unknown: !NOTHING_SENT.test(code) && trustHint(code) === '',
  };
}

/** Nothing was sent. */
const NOTHING_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|ERR_TLS_\w+)$/;

const UNKNOWN_AUTHORITY: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

/** What to do about a certificate whose authority is not known here; empty for other codes. */
export function trustHint(code: string | undefined): string {
  if (code === undefined || !UNKNOWN_AUTHORITY.includes(code)) return '';
  return '; name the authority of its certificate in `ca_file` or NODE_EXTRA_CA_CERTS';
}

/** A place that must not be connected to is the same at the next attempt: somebody has to change the configuration. */
export function refusedAddress(error: AddressRefusedError): Extract<DeliveryResult, { outcome: 'rejected' }> {
  return { outcome: 'rejected', reason: `${error.message}; ${error.hint ?? ''}` };
}

/** A receiver may ask for a longer pause, but cannot put an alert off by more than this. */
const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** Who gave up waiting for the receiver does not know whether it has the message. */
const MAY_HAVE_ARRIVED: readonly number[] = [408, 502, 504];

/**
 * What an answer means for the delivery, by its status alone; the body has no say. `retryAfter` is the header as
 * received, `nowMs` the time of the answer.
 */
function webhookOutcome(status: number, retryAfter: string | undefined, nowMs: number): DeliveryResult {
  const answer = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { outcome: 'delivered', detail: answer };
  if (status === 410) return { outcome: 'disabled', reason: `${answer}: the receiver wants no more notifications` };
  if (status === 413) return { outcome: 'too_large', reason: answer };
  // A broken ingress answers 404, too.
  if (status === 404 || status === 408 || status === 429 || status >= 500) {
    const unknown = MAY_HAVE_ARRIVED.includes(status);
    return { outcome: 'retry', reason: answer, retryAfterMs: retryAfterMs(retryAfter, nowMs), unknown };
  }
  const redirect = status >= 300 && status < 400;
  return { outcome: 'rejected', reason: redirect ? `${answer}: redirects are not followed` : answer };
}

/** Milliseconds to wait by a Retry-After header, within bounds; null without one that can be understood. */
function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const waitMs = parseRetryAfter(header, nowMs);
  return waitMs === null ? null : Math.min(waitMs, LONGEST_RETRY_AFTER_MS);
}
