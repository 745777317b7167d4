import type { DeliveryResult } from './channel.ts';

/** A receiver may ask for a longer pause, but cannot put an alert off by more than this. */
const LONGEST_RETRY_AFTER_MS = 24 * 60 * 60 * 1000;

/** HTTP dates in the forms that name their zone; all others would be read as local time. */
const HTTP_DATE = /^[A-Z][a-z]+, .* GMT$/;

/**
 * What an answer means for the delivery, by its status alone; the body has no say. `retryAfter` is the header as
 * received, `nowMs` the time of the answer.
 */
export function webhookOutcome(status: number, retryAfter: string | undefined, nowMs: number): DeliveryResult {
  const answer = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { outcome: 'delivered', detail: answer };
  if (status === 410) return { outcome: 'disabled', reason: `${answer}: the receiver wants no more notifications` };
  if (status === 408 || status === 429 || status >= 500) {
    return { outcome: 'retry', reason: answer, retryAfterMs: retryAfterMs(retryAfter, nowMs) };
  }
  const redirect = status >= 300 && status < 400;
  return { outcome: 'rejected', reason: redirect ? `${answer}: redirects are not followed` : answer };
}

/** Milliseconds to wait by a Retry-After header, in seconds or as a date; null without one that can be understood. */
function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  const waitMs = /^\d+$/.test(text)
    ? Number(text) * 1000
    : HTTP_DATE.test(text)
      ? Date.parse(text) - nowMs
      : Number.NaN;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), LONGEST_RETRY_AFTER_MS);
}
