import { parseNumbers } from '../../core/text/exact-json.ts';

/** `Number.MAX_SAFE_INTEGER` has 16 digits: shorter runs of digits are exact in a double. */
const EXACT_DIGITS = 16;
/** More digits than any accepted integer has; they are not worth turning into a bigint. */
const MAX_DIGITS = 40;
/** Longer numerals are taken for out of range unread: no service writes them, and they would take long. */
const MAX_NUMERAL_LENGTH = 400;

const [POINT, ZERO, NINE] = [0x2e, 0x30, 0x39];

/**
 * Parses JSON without rounding: integers beyond 2^53-1 are bigints, or plus or minus Infinity beyond 40 digits; a
 * fraction that a double would round to an integer is NaN. Several times slower than `JSON.parse`, so it is for texts
 * that `mayHoldLongNumber` or hold an integer that is not safe. Throws SyntaxError, or RangeError on absurd nesting.
 */
export function parseJsonExact(text: string): unknown {
  return parseNumbers(text, readNumber);
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
  if (significant.length + scale > MAX_DIGITS) return sign === '-' ? -Infinity : Infinity;
  const exact = BigInt(sign + significant + '0'.repeat(scale));
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : exact;
}

/**
 * True when the JSON text may hold a number of 16 or more digits, with a point among them or none, so that `JSON.parse` could
 * round it. A run of so many covers a position that is 15 modulo 16: only those are looked at,
 * and the run around one found there is measured. A run that cannot be part of a number stands inside a string, such as an
 * id, and does not count.
 */
export function mayHoldLongNumber(json: Uint8Array): boolean {
  for (let index = EXACT_DIGITS - 1; index < json.length; index += EXACT_DIGITS) {
    if (!isDigitOrPoint(json[index])) continue;
    let start = index;
    while (start > 0 && isDigitOrPoint(json[start - 1])) start--;
    let end = index + 1;
    while (isDigitOrPoint(json[end])) end++;
    if (end - start >= EXACT_DIGITS && canBeNumber(json, start)) return true;
    // On to the last such position of this run: a run is measured once, however long it is.
    index = end - 1 - (end % EXACT_DIGITS);
  }
  return false;
}

/** True when a zero may be none in the JSON text: of `1e-400` and other exponents of three digits `JSON.parse` makes one. */
export function mayUnderflow({ buffer, byteOffset, byteLength }: Uint8Array): boolean {
  const json = Buffer.from(buffer, byteOffset, byteLength);
  for (const sign of ['e-', 'E-']) {
    for (let at = json.indexOf(sign); at >= 0; at = json.indexOf(sign, at + 2)) {
      if (isDigitOrPoint(json[at - 1]) && isDigitOrPoint(json[at + 4])) return true;
    }
  }
  return false;
}

/** Whether digits that start here can be part of a JSON number, by the one or two bytes before them. */
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

/** Empty before the text begins. */
function charAt(json: Uint8Array, index: number): string {
  const byte = json[index];
  return byte === undefined ? '' : String.fromCharCode(byte);
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}

function isDigitOrPoint(byte: number | undefined): boolean {
  return isDigit(byte) || byte === POINT;
}

/**
 * The name of a member that stands twice in one object of this JSON text, or null. JSON's readers keep one of the two, so
 * what the other says would be lost without a word.
 *
 * `value` is what was read from the text. Its names and colons are as many as the text has, unless a member was lost.
 */
export function repeatedMember(text: string, value: unknown): string | null {
  // An escape may stand for a colon.
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
