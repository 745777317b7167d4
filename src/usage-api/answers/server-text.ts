import { type Redactor, withoutOpaqueRuns } from '../../core/text/redact.ts';

const MAX_LENGTH = 300;
/** A text value of the service that is longer is counted instead of shown: what is cut off could be half a secret. */
const MAX_VALUE_LENGTH = 60;
const NO_REDACTION: Redactor = (text) => text;

/**
 * Every text of the service passes here before it is part of an error, and so before it is stored, logged, sent or shown.
 * One line, no control characters, no known secret, nothing that looks like a signature or a token, at most 300
 * characters. All that is replaced before the cut, so that no part of it is left.
 */
export function cleanServerText(text: string, redact: Redactor = NO_REDACTION): string {
  const line = text
    .replace(/[\t\r\n\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, '')
    .trim();
  const safe = withoutOpaqueRuns(redact(line));
  return safe.length <= MAX_LENGTH ? safe : `${safe.slice(0, MAX_LENGTH - 1).replace(/\p{Cs}/gu, '')}…`;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Only an object with `success` or `data` can be an answer of the API. */
export function isEnvelope(answer: unknown): answer is Record<string, unknown> {
  return isObject(answer) && ('success' in answer || 'data' in answer);
}

/** The `message` of an envelope, cleaned; null when there is none. */
export function envelopeMessage(value: unknown, redact?: Redactor): string | null {
  if (typeof value !== 'object' || value === null || !('message' in value)) return null;
  if (typeof value.message !== 'string') return null;
  const text = cleanServerText(value.message, redact);
  return text === '' ? null : text;
}

/** Where an answer points to: its host only, since a path may carry anything. Null when it is not an address. */
export function describeLocation(location: string, redact?: Redactor): string | null {
  if (!URL.canParse(location)) return null;
  const { protocol, host } = new URL(location);
  return cleanServerText(`${protocol}//${host}`, redact);
}

/** A value of the service's answer in a few words, for an error that names it. */
export function describeValue(value: unknown, redact?: Redactor): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object';
  if (typeof value !== 'string') return cut(String(value));
  const text = cleanServerText(value, redact);
  return text.length <= MAX_VALUE_LENGTH ? JSON.stringify(text) : `a text of ${value.length} characters`;
}

function cut(text: string): string {
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH - 1)}…`;
}
