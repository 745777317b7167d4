/** The three forms of RFC 9110, 5.6.7; the last, of C's asctime, has no zone and is UTC too. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2}) \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** Milliseconds since the epoch of a date in an HTTP header; null when it is none. */
export function parseHttpDate(text: string): number | null {
  const utc = ASCTIME.test(text) ? `${text} GMT` : text;
  const epochMs = utc !== text || HTTP_DATE.test(text) ? Date.parse(utc) : Number.NaN;
  return Number.isNaN(epochMs) ? null : epochMs;
}

/**
 * Retry-After in milliseconds from `nowMs`, never negative: a number of seconds or an HTTP date (RFC 9110, 10.2.3); null
 * when absent or unreadable. `nowMs` is best the response's own Date, so that a wrong clock here does not matter.
 */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const epochMs = parseHttpDate(text);
  return epochMs === null ? null : Math.max(0, epochMs - nowMs);
}
