import { InputError } from '../core/errors.ts';

/** Returns the text of a required field. Throws InputError if it is blank. */
export function requireText(field: string, text: string): string {
  if (text.trim() !== '') return text;
  throw new InputError(
    (nameOf) => `${nameOf(field)} is required`,
    (nameOf) => `add ${nameOf(field)} with the ${field}`,
  );
}
