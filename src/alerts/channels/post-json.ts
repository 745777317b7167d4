import { AppError } from '../../core/errors.ts';
import { AddressRefusedError } from '../../net/address-guard.ts';
import { HttpClient, type HttpClientOptions, type HttpResponse, readStart } from '../../net/http-client.ts';
import { InvalidHttpRequestError, OutboundError, reasonOf } from '../../net/outbound-errors.ts';
import { ProxyRefusedError } from '../../net/proxy-refusal.ts';
import type { Failure, ResponseBodyReader } from './accepted-bodies.ts';
import type { DeliveryResult } from './channel.ts';

/** A request with a JSON body, and the limits of its connection. */
export interface JsonPostRequest extends Pick<HttpClientOptions, 'policy' | 'ca' | 'proxy' | 'clock'> {
  url: URL;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
  /** Finds a failure in the body of a 2xx response; absent for receivers that report failures only by status. */
  readBody?: ResponseBodyReader | undefined;
}

const MAX_RESPONSE_BYTES = 4096;

/**
 * Posts JSON once and returns the result, which the status of the response decides, and its body if `readBody` is
 * given. Redirects are not followed.
 */
export async function postJson({
  url,
  headers,
  body,
  signal,
  readBody,
  ...options
}: JsonPostRequest): Promise<DeliveryResult> {
  const client = new HttpClient(options);
  try {
    const allHeaders = { 'content-type': 'application/json', 'user-agent': 'usage-ledger', ...headers };
    // The connection is closed afterwards: notifications are rare, and it would probably be dead at the next one.
    const request = { method: 'POST' as const, url, headers: allHeaders, body, signal, isLast: true };
    return await client.send(request, (response) => deliveryOutcomeOf(response, readBody));
  } catch (error) {
    return signal.aborted ? { outcome: 'cancelled' } : toFailedDelivery(error);
  } finally {
    void client.close();
  }
}

async function deliveryOutcomeOf(
  { status, retryAfterMs, body }: HttpResponse,
  readBody: ResponseBodyReader | undefined,
): Promise<DeliveryResult> {
  const result = webhookOutcome(status, retryAfterMs);
  if (readBody !== undefined && result.outcome === 'delivered') {
    return readResult(result, readBody(await readStart(body, MAX_RESPONSE_BYTES)), retryAfterMs);
  }
  // The status has decided the outcome; the rest of the response does not matter, even if it never arrives.
  await body.dump({ limit: MAX_RESPONSE_BYTES });
  return result;
}

function readResult(delivered: DeliveryResult, failure: Failure | null, retryAfterMs: number | null): DeliveryResult {
  if (failure === null) return delivered;
  if ('outcome' in failure) return failure;
  const { reason, status } = failure;
  const meant = webhookOutcome(status, retryAfterMs);
  // A body that reports a failure with a status of 2xx or 3xx contradicts itself: the same attempt would fail again.
  if (meant.outcome === 'delivered') return { outcome: 'rejected', reason };
  return 'reason' in meant ? { ...meant, reason } : meant;
}

/** Converts the error of a request that got no complete response into the result of its delivery. */
export function toFailedDelivery(error: unknown): Extract<DeliveryResult, { reason: string }> {
  if (!(error instanceof AppError)) throw error;
  const reason = reasonOf(error);
  // The next attempt would fail in the same way until the configuration changes.
  if (error instanceof AddressRefusedError || error instanceof InvalidHttpRequestError)
    return { outcome: 'rejected', reason };
  const unknown = !(error instanceof OutboundError && error.neverSent);
  const retry = { outcome: 'retry' as const, reason, retryAfterMs: null, unknown };
  return error instanceof ProxyRefusedError ? { ...retry, isDenial: error.isDenial } : retry;
}

/** A receiver may request a longer pause, but a message is never delayed by more than this. */
const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** Statuses that a proxy sends when it gives up waiting: the receiver behind it may have the message. */
const MAY_HAVE_ARRIVED: readonly number[] = [408, 502, 504];

/** Converts the status of a response into the result of the delivery. */
function webhookOutcome(status: number, retryAfterMs: number | null): DeliveryResult {
  const answer = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { outcome: 'delivered', detail: answer };
  if (status === 410) return { outcome: 'disabled', reason: `${answer}: the receiver wants no more notifications` };
  if (status === 413) return { outcome: 'too_large', reason: answer };
  // A broken ingress also answers 404, so that status is worth another attempt.
  if (status === 404 || status === 408 || status === 429 || status >= 500) {
    const waitMs = retryAfterMs === null ? null : Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS);
    return { outcome: 'retry', reason: answer, retryAfterMs: waitMs, unknown: MAY_HAVE_ARRIVED.includes(status) };
  }
  const redirect = status >= 300 && status < 400;
  return { outcome: 'rejected', reason: redirect ? `${answer}: redirects are not followed` : answer };
}
