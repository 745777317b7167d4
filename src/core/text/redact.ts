/** Replaces every known secret in a text. Secrets are recognised by value, so it does not matter where they appear. */
export type Redactor = (text: string) => string;

const REPLACEMENT = '[redacted]';
/** Shorter values would blot out ordinary text and are no secrets worth the name. */
const MINIMUM_LENGTH = 4;

/** Parts of a longer encoded text are recognised from this many characters of the secret on. */
const MINIMUM_PART = 8;

/**
 * Builds a redactor for these values in the forms in which they turn up: as they are, in small or large letters, escaped
 * inside JSON, percent-encoded, as base64 or base64url (alone or inside a longer text, as `user:password` is), and as hex of either
 * case. Longer forms are replaced first, so that one secret inside another leaves no rest.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < MINIMUM_LENGTH) continue;
    for (const form of formsOf(secret)) forms.add(form);
  }
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((rest, form) => rest.replaceAll(form, REPLACEMENT), text);
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const hex = bytes.toString('hex');
  const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const whole = [bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), bytes.toString('base64url')];
  return [
    ...[secret, JSON.stringify(secret).slice(1, -1), ...percentEncoded(secret)],
    // Names of hosts are written small, headings large.
    ...[secret.toLowerCase(), secret.toUpperCase()],
    ...[hex, hex.toUpperCase(), percent, percent.toUpperCase()],
    ...whole.flatMap((form) => [form, ...percentEncoded(form)]),
    ...(bytes.length < MINIMUM_PART ? [] : base64Parts(bytes)),
  ];
}

function percentEncoded(text: string): string[] {
  // What cannot be encoded, a lone surrogate, cannot stand in an address either.
  if (!text.isWellFormed()) return [];
  const encoded = encodeURIComponent(text);
  return [encoded, encoded.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()), encoded.replaceAll('%20', '+')];
}

/** What the bytes look like in the base64 of a longer text: without the characters that depend on their neighbours. */
function base64Parts(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes]);
    const certain = Math.floor((padded.length * 8) / 6);
    const from = Math.ceil((before * 8) / 6);
    return [padded.toString('base64').slice(from, certain), padded.toString('base64url').slice(from, certain)];
  });
}

/**
 * Unbroken runs that are long enough for a signature or a token, which are usable by whoever reads them: 43 characters
 * are the shortest encoding of a signature, as hex it has 64, and a UUID has 36.
 */
export function withoutOpaqueRuns(text: string): string {
  return text.replace(/[\w+/=%~.-]{40,}|[0-9a-f]{32,}/gi, REPLACEMENT);
}
