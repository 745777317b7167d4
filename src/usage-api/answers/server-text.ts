import type { Redactor } from '../../core/redact.ts';

const MAX_LENGTH = 300;
const NO_REDACTION: Redactor = (text) => text;

/**
 * Makes text from the service fit to be shown in an error: one line, no control characters, no known secret, at most
 * 300 characters. Secrets are replaced before the cut, so that no part of one is left.
 */
export function cleanServerText(text: string, redact: Redactor = NO_REDACTION): string {
  const line = text
    .replace(/[\t\r\n\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .trim();
  const safe = redact(line);
  return safe.length <= MAX_LENGTH ? safe : `${safe.slice(0, MAX_LENGTH - 1).replace(/\p{Cs}/gu, '')}…`;
}

/**
 * The `message` of an envelope, cleaned; null when there is none. Long unbroken runs go too: a service that explains
 * why a signature is wrong may repeat it, and signatures and tokens are usable by whoever reads them (43 characters is
 * the shortest encoding of a signature; a UUID has 36).
 */
export function envelopeMessage(value: unknown, redact?: Redactor): string | null {
  if (typeof value !== 'object' || value === null || !('message' in value)) return null;
  if (typeof value.message !== 'string') return null;
  const text = cleanServerText(value.message.replace(/[\w+/=-]{40,}/g, '[redacted]'), redact);
  return text === '' ? null : text;
}

/** A value of the service's answer in a few words, for an error that names it. */
export function describeValue(value: unknown): string {
  if (typeof value === 'bigint') return cut(String(value));
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  return cut(cleanServerText(typeof value === 'string' ? JSON.stringify(value) : String(value)));
}

function cut(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`;
}
