/** Replaces every known secret in a text. Secrets are recognized by value, so it does not matter where they appear. */
export type Redactor = (text: string) => string;

const REPLACEMENT = '[redacted]';
/**
 * The minimum length of a secret that is replaced. Shorter secrets appear too often in ordinary words; `doctor` warns
 * of them.
 */
const MINIMUM_LENGTH = 4;

/**
 * A secret of at least this many bytes, inside the base64 of a longer text, is found by its base64 characters. A
 * shorter secret is found by decoding the text.
 */
const MINIMUM_PART = 8;

/** A secret of at least this length is replaced inside longer words, too: no ordinary word contains it by chance. */
const MIN_LENGTH_INSIDE_WORDS = 20;

/**
 * One spelling of a secret, such as its base64. `isPlain` is true if the spelling is not encoded. A plain spelling that
 * is a short word is not replaced inside a longer word: `pass` is kept in `passage`.
 */
interface SecretForm {
  text: string;
  isPlain: boolean;
}

/**
 * Builds a redactor for these secrets. Each secret is found as it is, in lower and upper case, escaped inside JSON,
 * percent-encoded, as base64 or base64url (alone or inside a longer text, such as `user:password`), and as hex in
 * either case. Longer spellings are replaced first. Otherwise, if one secret contains another, replacing the shorter
 * one would leave the rest of the longer one readable.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const known = secrets.filter((secret) => secret.length >= MINIMUM_LENGTH);
  const texts = new Map(known.flatMap(formsOf).map((form) => [form.text, form.isPlain]));
  const forms = [...texts].map(([text, isPlain]) => ({ text, isPlain }));
  forms.sort((a, b) => b.text.length - a.text.length);
  const short = known.filter((secret) => Buffer.byteLength(secret) < MINIMUM_PART);
  return (text) => forms.reduce(replaceForm, withoutEncoded(text, short));
}

function replaceForm(text: string, form: SecretForm): string {
  if (!text.includes(form.text)) return text;
  const isShortWord = form.isPlain && form.text.length < MIN_LENGTH_INSIDE_WORDS && isWord(form.text);
  return isShortWord ? replaceWord(text, form.text) : text.replaceAll(form.text, REPLACEMENT);
}

function replaceWord(text: string, word: string): string {
  let at = text.indexOf(word);
  let replaced = '';
  let end = 0;
  for (; at >= 0; at = text.indexOf(word, at + 1)) {
    if (at < end || !isWholeWordAt(text, at, word.length)) continue;
    replaced += text.slice(end, at) + REPLACEMENT;
    end = at + word.length;
  }
  return replaced + text.slice(end);
}

/** An escape sequence, such as `\\u001b[0m`, is looked for in this many characters before a word. */
const ESCAPE_LENGTH = 24;

/**
 * Reports whether the text at this position is a whole word. Its regular expressions are created here and not when the
 * program starts: creating them takes a millisecond, and only a text that contains a secret needs them.
 */
function isWholeWordAt(text: string, at: number, length: number): boolean {
  const before = text.slice(Math.max(0, at - ESCAPE_LENGTH), at);
  const after = text.slice(at + length, at + length + 2);
  if (/^[\p{L}\p{N}\p{M}_]/u.test(after)) return false;
  return !/[\p{L}\p{N}\p{M}_]$/u.test(before) || endsInEscape(before);
}

/**
 * Reports whether the text ends in an escape, such as `\n` or `\u001b` in JSON, `%20`, or a terminal colour. The last
 * letter or digit of the escape is not part of the word that follows.
 */
function endsInEscape(text: string): boolean {
  return /(?:\\[bfnrt]|\\u[\da-f]{4}|%[\da-f]{2}|(?:\p{Cc}|\\u001b)\[[\d;]*[a-z])$/iu.test(text);
}

function isWord(text: string): boolean {
  return /^[\p{L}\p{N}\p{M}_]*$/u.test(text);
}

function formsOf(secret: string): SecretForm[] {
  const bytes = Buffer.from(secret, 'utf8');
  const hex = bytes.toString('hex');
  const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const whole = [bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
  const plain = [
    ...[secret, JSON.stringify(secret).slice(1, -1), ...percentEncoded(secret)],
    // The secret may be in a host name, which is written in lower case, or in a heading, which is often in upper case.
    ...[secret.toLowerCase(), secret.toUpperCase()],
  ];
  const encoded = [
    ...[hex, hex.toUpperCase(), percent, percent.toUpperCase()],
    ...whole.flatMap((form) => [form, ...percentEncoded(form)]),
    ...(bytes.length < MINIMUM_PART ? [] : base64Parts(bytes)),
  ];
  return [...encoded.map((text) => ({ text, isPlain: false })), ...plain.map((text) => ({ text, isPlain: true }))];
}

function percentEncoded(text: string): string[] {
  // Text with a lone surrogate cannot be percent-encoded, so no web address contains it.
  if (!text.isWellFormed()) return [];
  const encoded = encodeURIComponent(text);
  return [encoded, encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()), encoded.replaceAll('%20', '+')];
}

/**
 * Returns the base64 characters that these bytes have inside any longer text, for each of the three alignments.
 * Characters that also depend on the neighbouring bytes are left out.
 */
function base64Parts(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const certain = Math.floor((padded.length * 8) / 6);
    const from = Math.ceil((before * 8) / 6);
    return [padded.toString('base64').slice(from, certain), padded.toString('base64url').slice(from, certain)];
  });
}

/**
 * Character runs that may be base64 of a text with a short secret in it, such as `user:pass` in Basic authentication.
 */
const MAY_BE_BASE64 = /[A-Za-z0-9+/_-]{8,}(?:=|%3D){0,2}/gi;
/** Offsets at which decoding starts, one for each character of a base64 group. */
const BASE64_OFFSETS = [0, 1, 2, 3];

/**
 * Replaces the base64 of longer texts that contain one of these short secrets. A short secret has so few base64
 * characters that ordinary words may contain them, so each run of characters is decoded instead. Decoding starts at
 * each of the first four characters, because an escape such as `\n` may precede the base64.
 */
function withoutEncoded(text: string, short: readonly string[]): string {
  if (short.length === 0) return text;
  return text.replace(MAY_BE_BASE64, (run) => {
    const decoded = BASE64_OFFSETS.map((from) => Buffer.from(run.slice(from), 'base64').toString('utf8'));
    return short.some((secret) => decoded.some((each) => hasSecret(each, secret))) ? REPLACEMENT : run;
  });
}

function hasSecret(text: string, secret: string): boolean {
  return isWord(secret) ? replaceWord(text, secret) !== text : text.includes(secret);
}

/**
 * Replaces each run of characters that is long enough to be a signature or token (40 characters, or 32 hex digits),
 * because whoever reads a token can use it. The shortest encoding of a signature has 43 characters. A UUID has 36
 * characters and is not replaced.
 */
export function withoutOpaqueRuns(text: string): string {
  return text.replace(/[\w+/=%~.-]{40,}|[0-9a-f]{32,}/gi, REPLACEMENT);
}
