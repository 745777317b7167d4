/** Replaces every known secret in a text. Secrets are recognized by value, so it does not matter where they appear. */
export type Redactor = (text: string) => string;

const REPLACEMENT = '[redacted]';
/** Shorter values are ordinary words too often: `doctor` warns of them. */
const MINIMUM_LENGTH = 4;

/** Parts of a longer encoded text are recognized from this many bytes of the secret on. */
const MINIMUM_PART = 8;

/** From this length on, no ordinary word contains the secret by chance, so it is replaced inside longer words as well. */
const MIN_LENGTH_INSIDE_WORDS = 20;

/** A form in which a secret appears. A plain form that is a short word is left alone inside a longer word, as `pass` in `passage`. */
interface SecretForm {
  text: string;
  isPlain: boolean;
}

/**
 * Builds a redactor for these values. Each is recognized as it is, in lower and upper case, escaped inside JSON, percent-encoded, as
 * base64 or base64url (alone or inside a longer text, as `user:password` is), and as hex of either case. Longer forms are replaced
 * first, so that one secret inside another leaves no rest.
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

/** The longest escape looked for. */
const ESCAPE_LENGTH = 24;

/** Its patterns are built when they are needed: their Unicode classes take a millisecond, and few texts contain a secret. */
function isWholeWordAt(text: string, at: number, length: number): boolean {
  const before = text.slice(Math.max(0, at - ESCAPE_LENGTH), at);
  const after = text.slice(at + length, at + length + 2);
  if (/^[\p{L}\p{N}\p{M}_]/u.test(after)) return false;
  return !/[\p{L}\p{N}\p{M}_]$/u.test(before) || endsInEscape(before);
}

/** Escapes end in a letter or digit that is not part of the word behind them: `\n` and `\u001b` of JSON, `%20`, terminal colours. */
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
    // Host names are in lower case, headings often in upper case.
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
  // A lone surrogate cannot be encoded, so it cannot be part of an address either.
  if (!text.isWellFormed()) return [];
  const encoded = encodeURIComponent(text);
  return [encoded, encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()), encoded.replaceAll('%20', '+')];
}

/** The characters that these bytes have in the base64 of any longer text: those that depend on their neighbours are left out. */
function base64Parts(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const certain = Math.floor((padded.length * 8) / 6);
    const from = Math.ceil((before * 8) / 6);
    return [padded.toString('base64').slice(from, certain), padded.toString('base64url').slice(from, certain)];
  });
}

/** Runs that may be base64 of a text with a short secret in it, as `user:pass` is in a header for Basic authentication. */
const MAY_BE_BASE64 = /[A-Za-z0-9+/_-]{8,}(?:=|%3D){0,2}/gi;
/** Bytes of base64 that are decoded together. */
const BASE64_GROUP = [0, 1, 2, 3];

/**
 * Replaces base64 of longer texts with one of these secrets. The few characters that a short secret has in such a text may be part of any
 * word, so each run is decoded instead: from each of its first characters, because an escape such as `\n` may precede it.
 */
function withoutEncoded(text: string, short: readonly string[]): string {
  if (short.length === 0) return text;
  return text.replace(MAY_BE_BASE64, (run) => {
    const decoded = BASE64_GROUP.map((from) => Buffer.from(run.slice(from), 'base64').toString('utf8'));
    return short.some((secret) => decoded.some((each) => hasSecret(each, secret))) ? REPLACEMENT : run;
  });
}

function hasSecret(text: string, secret: string): boolean {
  return isWord(secret) ? replaceWord(text, secret) !== text : text.includes(secret);
}

/**
 * Unbroken runs that are long enough for a signature or a token, which are usable by whoever reads them: 43 characters
 * are the shortest encoding of a signature, as hex it has 64, and a UUID has 36.
 */
export function withoutOpaqueRuns(text: string): string {
  return text.replace(/[\w+/=%~.-]{40,}|[0-9a-f]{32,}/gi, REPLACEMENT);
}
