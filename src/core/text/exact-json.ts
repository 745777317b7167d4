type Reviver = (key: string, value: unknown) => unknown;

/** What Node 22 offers and TypeScript's library does not know: the source of a number, and text that is written as it is. */
interface SourceJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  stringify(value: unknown, replacer: Reviver, space?: number): string | undefined;
  rawJSON(text: string): unknown;
}

const json = JSON as unknown as SourceJson;

/** Parses JSON without rounding: integers of any size come as bigint, other numbers as number. Throws SyntaxError. */
export function parseExact(text: string, reviver: Reviver = (_, value) => value): unknown {
  return parseNumbers(text, exactNumber, reviver);
}

/** Parses JSON, and gives each number by what stands in the text for it. Throws SyntaxError. */
export function parseNumbers(
  text: string,
  readNumber: (source: string) => unknown,
  reviver: Reviver = (_, value) => value,
): unknown {
  return json.parse(text, (key, value, { source }) =>
    reviver(key, typeof value === 'number' && source !== undefined ? readNumber(source) : value),
  );
}

/** JSON text in which bigints are integers with all their digits. */
export function stringifyExact(value: unknown, space?: number): string {
  const text = json.stringify(
    value,
    (_, inner) => (typeof inner === 'bigint' ? json.rawJSON(`${inner}`) : inner),
    space,
  );
  return text ?? 'null';
}

/** Legal inside JSON strings, yet a terminal may act upon them: JSON's own escapes end at U+001F. */
const RISKY = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/** JSON text with the control and format characters of its strings escaped. */
export function escapeRisky(text: string): string {
  return text.replace(RISKY, escapeUnits);
}

function escapeUnits(character: string): string {
  let escaped = '';
  for (let index = 0; index < character.length; index++) {
    escaped += `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}

function exactNumber(source: string): bigint | number {
  return /^-?\d+$/.test(source) ? BigInt(source) : Number(source);
}
