import { parse } from 'lossless-json';

/** Parses JSON without rounding: integers of any size come as bigint, other numbers as number. */
export function parseExact(text: string, reviver?: (key: string, value: unknown) => unknown): unknown {
  return parse(text, reviver, exactNumber);
}

function exactNumber(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}
