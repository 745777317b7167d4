/** Reading JSON by its bytes, for text of the plain form: ASCII strings without escapes, integers that a double holds. */

export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
export const QUOTE = 0x22;
export const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
/** 1 for each byte that stands for itself in a string. */
const IN_TEXT = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 0x20 && byte <= 0x7e && byte !== QUOTE && byte !== BACKSLASH ? 1 : 0,
);
/** As many decimal digits as a double always holds exactly. */
const EXACT_DIGITS = 15;

/**
 * A text to compare bytes with: eight at a time, or four where it is shorter, the last ones overlapping those before.
 * Bytes are compared as doubles, whose equality is that of the bytes because none of printable text is 0 or NaN.
 */
export interface Pattern {
  /** Bytes. */
  length: number;
  eights: Float64Array;
  fours: Uint32Array;
}

/** The pattern of a text of at least four printable ASCII characters or spaces. */
export function pattern(text: string): Pattern {
  return patternOf(
    Uint8Array.from(text, (character) => character.charCodeAt(0)),
    0,
    text.length,
  );
}

/** The pattern of such a text that stands here. */
export function patternOf(body: Uint8Array, from: number, end: number): Pattern {
  const view = new DataView(body.buffer, body.byteOffset + from, end - from);
  const length = end - from;
  const places = (size: number) =>
    Array.from({ length: Math.ceil(length / size) }, (_, index) => Math.min(index * size, length - size));
  return {
    length,
    eights: Float64Array.from(length < 8 ? [] : places(8), (at) => view.getFloat64(at, true)),
    fours: Uint32Array.from(length < 8 ? places(4) : [], (at) => view.getUint32(at, true)),
  };
}

/** Whether this text stands here. */
export function holds(view: DataView, at: number, { length, eights, fours }: Pattern): boolean {
  if (at + length > view.byteLength) return false;
  const last = eights.length - 1;
  if (last < 0) return view.getUint32(at, true) === fours[0] && view.getUint32(at + length - 4, true) === fours.at(-1);
  for (let index = 0; index < last; index += 1) {
    if (view.getFloat64(at + index * 8, true) !== eights[index]) return false;
  }
  return view.getFloat64(at + length - 8, true) === eights[last];
}

/** Where the quote stands that closes the string which begins here; -1 when the string is not plain or does not end. */
export function textEnd(body: Uint8Array, from: number): number {
  let at = from;
  while (IN_TEXT[body[at] as number] === 1) at += 1;
  return body[at] === QUOTE ? at : -1;
}

/** The text of ASCII bytes. */
export function textOf(body: Uint8Array, from: number, end: number): string {
  return Buffer.from(body.buffer, body.byteOffset + from, end - from).toString('latin1');
}

/** Where the integer ends that begins here; -1 when there is none, or one that a double might round. */
export function numeralEnd(body: Uint8Array, from: number): number {
  if (body[from] !== MINUS) return digitsEnd(body, from);
  // -0 is not the integer 0 to JavaScript.
  return body[from + 1] === ZERO ? -1 : digitsEnd(body, from + 1);
}

/** The same for integers that are not negative; -1 for any other. */
export function digitsEnd(body: Uint8Array, from: number): number {
  let at = from;
  while (((body[at] as number) ^ ZERO) <= 9) at += 1;
  const digits = at - from;
  // 007 is no JSON.
  const odd = digits > 1 && body[from] === ZERO;
  return digits === 0 || digits > EXACT_DIGITS || odd ? -1 : at;
}

/** The value of the integer between these places, as `numeralEnd` found it. */
export function wholeNumber(body: Uint8Array, from: number, end: number): number {
  const negative = body[from] === MINUS;
  let value = 0;
  for (let at = negative ? from + 1 : from; at < end; at += 1) value = value * 10 + (body[at] as number) - ZERO;
  return negative ? -value : value;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}
