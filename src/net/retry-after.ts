/**
 * RFC 9110, 5.6.7 allows three forms of dates: HTTP_DATE matches two of them, and ASCTIME matches the third, which has
 * no time zone but is also UTC.
 */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4}|[A-Z][a-z]+day, \d{2}-[A-Z][a-z]{2}-\d{2}) \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** Returns the milliseconds since the Unix epoch of a date in an HTTP header; null if the text is not such a date. */
export function parseHttpDate(text: string): number | null {
  const utc = ASCTIME.test(text) ? `${text} GMT` : text;
  const epochMs = utc !== text || HTTP_DATE.test(text) ? Date.parse(utc) : Number.NaN;
  return Number.isNaN(epochMs) ? null : epochMs;
}

/**
 * Returns the time to wait according to a Retry-After header, in milliseconds from `nowMs` and never negative. The
 * header is a number of seconds or an HTTP date (RFC 9110, 10.2.3). Returns null if the header is absent or unreadable.
 * If possible, pass the time in the response's Date header as `nowMs`: then a wrong clock of this machine does not
 * matter.
 */
export function parseRetryAfter(header: string | null | undefined, nowMs: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1000);
  const epochMs = parseHttpDate(text);
  return epochMs === null ? null : Math.max(0, epochMs - nowMs);
}
