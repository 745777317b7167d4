import { type Redactor, withoutOpaqueRuns } from '../../core/text/redact.ts';

const MAX_TEXT_LENGTH = 300;
/** Errors give the length of a longer text value instead of quoting it, because a cut could leave half a secret. */
const MAX_VALUE_LENGTH = 60;
const NO_REDACTION: Redactor = (text) => text;

/**
 * Cleans a text of the service for use in an error, which is stored, logged, sent and shown. The result is one line of
 * at most 300 characters, without control characters, known secrets or runs that look like a signature or a token.
 * Secrets are replaced before the cut, so that no part of one is left.
 */
export function cleanServerText(text: string, redact: Redactor = NO_REDACTION): string {
  const line = text
    .replace(/[\t\r\n\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .trim();
  const safe = withoutOpaqueRuns(redact(line));
  return safe.length <= MAX_TEXT_LENGTH ? safe : `${safe.slice(0, MAX_TEXT_LENGTH - 1).replace(/\p{Cs}/gu, '')}…`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reports whether parsed JSON can be a response of the API: an object with `success` or `data`. */
export function isEnvelope(answer: unknown): answer is Record<string, unknown> {
  return isObject(answer) && ('success' in answer || 'data' in answer);
}

/** Returns the `message` of an envelope, cleaned; null if there is none. */
export function envelopeMessage(value: unknown, redact?: Redactor): string | null {
  if (typeof value !== 'object' || value === null || !('message' in value)) return null;
  if (typeof value.message !== 'string') return null;
  const text = cleanServerText(value.message, redact);
  return text === '' ? null : text;
}

/**
 * Returns scheme and host of a Location header, without the path, which may contain secrets. Returns null if the header
 * is not an absolute URL.
 */
export function describeLocation(location: string, redact?: Redactor): string | null {
  if (!URL.canParse(location)) return null;
  const { protocol, host } = new URL(location);
  return cleanServerText(`${protocol}//${host}`, redact);
}

/** Describes a value of the response briefly, for use in an error. */
export function describeValue(value: unknown, redact?: Redactor): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  if (typeof value !== 'string') return cut(String(value));
  const text = cleanServerText(value, redact);
  return text.length <= MAX_VALUE_LENGTH ? JSON.stringify(text) : `a text of ${value.length} characters`;
}

function cut(text: string): string {
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH - 1)}…`;
}
