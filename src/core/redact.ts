/** Replaces every known secret in a text. Secrets are recognised by value, so it does not matter where they appear. */
export type Redactor = (text: string) => string;

const REPLACEMENT = '[redacted]';
/** Shorter values would blot out ordinary text and are no secrets worth the name. */
const MINIMUM_LENGTH = 4;

/**
 * Builds a redactor for these values in the forms in which they turn up in logs: as they are, escaped inside JSON and
 * percent-encoded in an address. Longer values are replaced first, so that one secret inside another leaves no rest.
 */
export function createRedactor(secrets: readonly string[]): Redactor {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < MINIMUM_LENGTH) continue;
    forms.add(secret);
    forms.add(JSON.stringify(secret).slice(1, -1));
    forms.add(encodeURIComponent(secret));
  }
  const ordered = [...forms].sort((a, b) => b.length - a.length);
  return (text) => ordered.reduce((rest, form) => rest.replaceAll(form, REPLACEMENT), text);
}
