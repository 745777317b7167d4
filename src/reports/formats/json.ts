import { stringifyExact } from '../../core/text/exact-json.ts';

/** Legal inside JSON strings, yet a terminal may act upon them: JSON's own escapes end at U+001F. */
const RISKY = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/**
 * One JSON document, indented, ending in a line break. Bigints are written as integers with all their digits, never as
 * strings and never rounded: readers that need exact values beyond 2^53 must parse with a lossless parser. Control and
 * format characters are escaped, which leaves the value the same and a terminal unharmed.
 */
export function renderJson(value: object): string {
  return `${stringifyExact(value, 2).replace(RISKY, escapeUnits)}\n`;
}

function escapeUnits(character: string): string {
  let escaped = '';
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}
