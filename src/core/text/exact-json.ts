type Reviver = (key: string, value: unknown) => unknown;

/**
 * JSON functions of Node 22 that TypeScript's library does not declare: `parse` passes the source text of a number to
 * the reviver, and `rawJSON` writes raw JSON.
 */
interface SourceJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
  stringify(value: unknown, replacer: Reviver, space?: number): string | undefined;
  rawJSON(text: string): unknown;
}

const json = JSON as unknown as SourceJson;

/**
 * Parses JSON without rounding: integers of any size become bigint, other numbers become number. Throws SyntaxError.
 */
export function parseExact(text: string, reviver: Reviver = (_, value) => value): unknown {
  return parseJsonNumbers(text, exactNumber, reviver);
}

/**
 * Parses JSON. Each number is replaced by the value that `readNumber` returns for its source text. Throws SyntaxError.
 */
export function parseJsonNumbers(
  text: string,
  readNumber: (source: string) => unknown,
  reviver: Reviver = (_, value) => value,
): unknown {
  return json.parse(text, (key, value, { source }) =>
    reviver(key, typeof value === 'number' && source !== undefined ? readNumber(source) : value),
  );
}

/** Formats a value as JSON and writes every digit of a bigint. */
export function stringifyExact(value: unknown, space?: number): string {
  const text = json.stringify(
    value,
    (_, inner) => (typeof inner === 'bigint' ? json.rawJSON(`${inner}`) : inner),
    space,
  );
  return text ?? 'null';
}

/**
 * Characters that JSON allows without an escape in strings, but that a terminal may act on. JSON itself requires
 * escapes only up to U+001F.
 */
const RISKY = /[\u007f-\u009f\p{Cf}\u2028\u2029]/gu;

/** Escapes control and format characters inside the strings of a JSON text. */
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
