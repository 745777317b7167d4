/** Reading JSON by its bytes, for text of the plain form: ASCII strings without escapes, integers that a double holds. */

export const QUOTE = 0x22;
export const MINUS = 0x2d;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
const WORD = 4;
/** As many decimal digits as a double always holds exactly. */
const EXACT_DIGITS = 15;

/** A text to compare bytes with, four at a time; the last four overlap those before where need be. */
export interface Pattern {
  /** Bytes. */
  length: number;
  words: Uint32Array;
}

/** The pattern of an ASCII text of at least four characters. */
export function pattern(text: string): Pattern {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const count = Math.ceil(bytes.length / WORD);
  const words = Uint32Array.from({ length: count }, (_, index) =>
    view.getUint32(Math.min(index * WORD, bytes.length - WORD)),
  );
  return { length: bytes.length, words };
}

/** Whether this text stands here. */
export function holds(view: DataView, at: number, { length, words }: Pattern): boolean {
  if (at + length > view.byteLength) return false;
  const last = words.length - 1;
  for (let index = 0; index < last; index += 1) if (view.getUint32(at + index * WORD) !== words[index]) return false;
  return view.getUint32(at + length - WORD) === words[last];
}

/** Where the quote stands that closes the string which begins here; -1 when the string is not plain or does not end. */
export function textEnd(body: Uint8Array, from: number): number {
  for (let at = from; at < body.length; at += 1) {
    const byte = body[at] as number;
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH || byte < 0x20 || byte > 0x7e) return -1;
  }
  return -1;
}

/** The text of ASCII bytes. */
export function textOf(body: Uint8Array, from: number, end: number): string {
  return Buffer.from(body.buffer, body.byteOffset + from, end - from).toString('latin1');
}

/** Where the integer ends that begins here; -1 when there is none, or one that a double might round. */
export function numeralEnd(body: Uint8Array, from: number): number {
  const negative = body[from] === MINUS;
  const first = negative ? from + 1 : from;
  let at = first;
  while (isDigit(body[at])) at += 1;
  const digits = at - first;
  // Neither 007, which is no JSON, nor -0, which is not the integer 0 to JavaScript.
  const odd = body[first] === ZERO && (digits > 1 || negative);
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
