import { InputError } from '../core/errors.ts';

/** Returns the text of a field that must not be blank. Throws InputError otherwise. */
export function requireText(field: string, text: string): string {
  if (text.trim() !== '') return text;
  throw new InputError(
    (nameOf) => `${nameOf(field)} is required`,
    (nameOf) => `add ${nameOf(field)} with the ${field}`,
  );
}
