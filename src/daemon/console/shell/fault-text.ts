import { InputError, summarizeError } from '../../../core/errors.ts';

/** Returns an error as a sentence, and what to do as another. */
export function faultText(error: unknown): string {
  const { message, hint } = error instanceof InputError ? error.wordsFor(fieldLabel) : summarizeError(error);
  return hint === undefined ? sentence(message) : `${sentence(message)} ${sentence(hint)}`;
}

/** Returns the words of a field of an operation, as the labels of forms have them. */
export function fieldLabel(field: string): string {
  return field.replaceAll('_', ' ');
}

/**
 * Makes a sentence of a message: a capital letter first and a full stop at its end. A first word that is an id or the name
 * of a file stays as it is.
 */
export function sentence(text: string): string {
  const first = /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
