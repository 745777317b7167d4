import { parseRetryAfter } from '../../core/net/retry.ts';
import type { DeliveryResult } from './channel.ts';

/** A receiver may ask for a longer pause, but cannot put an alert off by more than this. */
const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** Who gave up waiting for the receiver does not know whether it has the message. */
const MAY_HAVE_ARRIVED: readonly number[] = [408, 502, 504];

/**
 * What an answer means for the delivery, by its status alone; the body has no say. `retryAfter` is the header as
 * received, `nowMs` the time of the answer.
 */
export function webhookOutcome(status: number, retryAfter: string | undefined, nowMs: number): DeliveryResult {
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
