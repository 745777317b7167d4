import { inertText } from './inert-text.ts';

export const MAX_NAME_CHARACTERS = 80;

/** Returns a person's name as it is recorded: inert, and cut to its maximum length; null for an empty one. */
export function personName(text: string): string | null {
  const name = inertText(text.trim());
  return name === '' ? null : Array.from(name).slice(0, MAX_NAME_CHARACTERS).join('');
}
