import { inertText } from './inert-text.ts';

export const MAX_NAME_CHARACTERS = 80;

/**
 * Returns a person's name in the form that is recorded: control characters are escaped, and it has at most 80
 * characters. Returns null if the text is empty.
 */
export function personName(text: string): string | null {
  const name = inertText(text.trim());
  return name === '' ? null : Array.from(name).slice(0, MAX_NAME_CHARACTERS).join('');
}
