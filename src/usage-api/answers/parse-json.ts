import { parseJsonNumbers } from '../../core/text/exact-json.ts';

/** A number with fewer digits is exact as a JavaScript number: `Number.MAX_SAFE_INTEGER` has 16 digits. */
const UNSAFE_NUMERAL_LENGTH = 16;
/** Integers with more digits become Infinity: converting them to a bigint would take long, and none would be valid. */
const MAX_INTEGER_DIGITS = 40;
/** Numbers with more characters become Infinity without being parsed, because parsing them would take long. */
const MAX_NUMERAL_LENGTH = 400;

const [POINT, DIGIT_ZERO, NINE] = [0x2e, 0x30, 0x39];

/**
 * Parses JSON without rounding: integers beyond 2^53-1 are bigints, or plus or minus Infinity beyond 40 digits; a
 * fraction that a double would round to an integer is NaN. It is several times slower than `JSON.parse`, so call it
 * only for texts that `mayHoldLongNumber` or that hold an unsafe integer. Throws SyntaxError, or RangeError on absurd
 * nesting.
 */
export function parseJsonExact(text: string): unknown {
  return parseJsonNumbers(text, readNumber);
}

function readNumber(text: string): number | bigint {
  if (text.length > MAX_NUMERAL_LENGTH) return Infinity;
  const rounded = Number(text);
  if (Number.isSafeInteger(rounded) && /^-?\d+$/.test(text)) return rounded;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return 0;
  const significant = digits.replace(/0+$/, '');
  const scale = Number(exponent) - fraction.length + (digits.length - significant.length);
  if (scale < 0) return Number.isInteger(rounded) ? Number.NaN : rounded;
  if (significant.length + scale > MAX_INTEGER_DIGITS) return sign === '-' ? -Infinity : Infinity;
  const exact = BigInt(sign + significant + '0'.repeat(scale));
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

/**
 * Reports whether the JSON text may hold a number with 16 or more digits and points, which `JSON.parse` could round. A
 * sequence of 16 such characters covers one of the positions 15, 31, 47 and so on, so only those positions are examined, and
 * the sequence around each is measured. Sequences inside a string, such as an id, do not count.
 */
export function mayHoldLongNumber(json: Uint8Array): boolean {
  for (let index = UNSAFE_NUMERAL_LENGTH - 1; index < json.length; index += UNSAFE_NUMERAL_LENGTH) {
    if (!isDigitOrPoint(json[index])) continue;
    let start = index;
    while (start > 0 && isDigitOrPoint(json[start - 1])) start--;
    let end = index + 1;
    while (isDigitOrPoint(json[end])) end++;
    if (end - start >= UNSAFE_NUMERAL_LENGTH && canBeNumber(json, start)) return true;
    // Continues after the last examined position in this sequence of digits, so that each sequence is measured once.
    index = end - 1 - (end % UNSAFE_NUMERAL_LENGTH);
  }
  return false;
}

/**
 * Reports whether `JSON.parse` may have turned a tiny number into zero, as it does with `1e-400` and other exponents of
 * three digits.
 */
export function mayUnderflow({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  const json = Buffer.from(buffer, byteOffset, byteLength);
  for (const sign of ['e-', 'E-']) {
    for (let at = json.indexOf(sign); at >= 0; at = json.indexOf(sign, at + 2)) {
      if (isDigitOrPoint(json[at - 1]) && isDigitOrPoint(json[at + 4])) return true;
    }
  }
  return false;
}

/** Reports whether digits that start here can be part of a JSON number, judging by the one or two bytes before them. */
function canBeNumber(json: Uint8Array, start: number): boolean {
  const before = charAt(json, start - 1);
  const earlier = charAt(json, start - 2);
  if (before === '-') return isBetweenTokens(earlier) || earlier === 'e' || earlier === 'E';
  if (before === '+') return earlier === 'e' || earlier === 'E';
  if (before === '.' || before === 'e' || before === 'E') return isDigit(json[start - 2]);
  return isBetweenTokens(before);
}

function isBetweenTokens(character: string): boolean {
  return ' \t\r\n[,:'.includes(character);
}

/** Returns the character at an index; empty before the text begins. */
function charAt(json: Uint8Array, index: number): string {
  const byte = json[index];
  return byte === undefined ? '' : String.fromCharCode(byte);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= DIGIT_ZERO && byte <= NINE;
}

function isDigitOrPoint(byte: number | undefined): boolean {
  return isDigit(byte) || byte === POINT;
}

/**
 * Returns the name of a member that appears twice in one object of the JSON text, or null. JSON parsers keep one of the
 * two and drop the other silently.
 *
 * `value` is the parsed text. It has as many names and colons as the text, unless a duplicate was dropped.
 */
export function findRepeatedMember(text: string, value: unknown): string | null {
  // With escapes, the text may have fewer colons than the value, so counting them proves nothing.
  if (!text.includes('\\') && colonsIn(text) === colonsNeeded(value)) return null;
  return findRepeated(text);
}

function colonsNeeded(value: unknown): number {
  let colons = 0;
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') colons += colonsIn(next);
    else if (Array.isArray(next)) for (const element of next) left.push(element);
    else if (typeof next === 'object' && next !== null) {
      for (const name in next) {
        colons += 1 + colonsIn(name);
        left.push((next as Record<string, unknown>)[name]);
      }
    }
  }
  return colons;
}

function colonsIn(text: string): number {
  let colons = 0;
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) colons++;
  return colons;
}

function findRepeated(text: string): string | null {
  const names: Set<string>[] = [];
  let latest = '';
  for (const [token] of text.matchAll(/"(?:[^"\\]+|\\.)*"|[{}[\]:]/g)) {
    if (token === '{' || token === '[') names.push(new Set());
    else if (token === '}' || token === ']') names.pop();
    else if (token !== ':') latest = token;
    else {
      const name = String(JSON.parse(latest));
      if (names.at(-1)?.has(name)) return name;
      names.at(-1)?.add(name);
    }
  }
  return null;
}
