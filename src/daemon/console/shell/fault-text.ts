import { InputError, summarizeError } from '../../../core/errors.ts';

/** Formats an error as two sentences: what failed, and what to do. */
export function faultText(error: unknown): string {
  const { message, hint } = error instanceof InputError ? error.wordsFor(fieldLabel) : summarizeError(error);
  return hint === undefined ? sentence(message) : `${sentence(message)} ${sentence(hint)}`;
}

/** Returns an operation's field name as the labels of forms show it: `external_ref` is `external ref`. */
export function fieldLabel(field: string): string {
  return field.replaceAll('_', ' ');
}

/**
 * Makes a sentence of a message: it begins with a capital letter and ends with a full stop. If the first word is an id
 * or a file name, it is not changed.
 */
export function sentence(text: string): string {
  const first = /^[a-z]+[ ,]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
