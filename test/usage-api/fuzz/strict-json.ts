import { parse } from 'lossless-json';

/** JSON as another library reads it: numbers keep their source, and it is noted whether some name stands twice. */
export interface Read {
  value: unknown;
  /** A name stands twice in an object: which of the two counts is anybody's guess. */
  ambiguous: boolean;
}

/** Null for what is no JSON. */
export function readJson(text: string): Read | null {
  const onDuplicateKey = ({ newValue }: { newValue: unknown }): unknown => newValue;
  try {
    const value = parse(text, undefined, { parseNumber: (source) => new Numeral(source), onDuplicateKey });
    return { value, ambiguous: hasNameTwice(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Whether an object of this JSON has a name twice; the library passes over those with equal values. */
function hasNameTwice(json: string): boolean {
  /** The names of each object that is open; null for a list. */
  const open: (Set<string> | null)[] = [];
  let isName = false;
  for (let at = 0; at < json.length; at += 1) {
    const sign = json[at];
    if (sign === '{' || sign === '[') open.push(sign === '{' ? new Set() : null);
    if (sign === '}' || sign === ']') open.pop();
    if (sign === '{' || sign === ',') isName = open.at(-1) instanceof Set;
    if (sign !== '"') continue;
    let end = at + 1;
    while (json[end] !== '"') end += json[end] === '\\' ? 2 : 1;
    const names = open.at(-1);
    if (isName && names instanceof Set) {
      const name = String(JSON.parse(json.slice(at, end + 1)));
      if (names.has(name)) return true;
      names.add(name);
    }
    isName = false;
    at = end;
  }
  return false;
}

/** The fields of an object; null for what is none. */
export function fieldsOf(value: unknown): Map<string, unknown> | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Numeral) return null;
  return new Map(Object.entries(value));
}

export class Numeral {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }

  /** Exactly, when it is a whole number; null for any other, and for one of more digits than anybody counts. */
  get whole(): bigint | null {
    const [, sign = '', int = '', fraction = '', power = '0'] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(this.source) ?? [];
    const exponent = Number(power);
    const digits = `${int}${fraction}`.replace(/^0+/, '');
    if (digits === '') return 0n;
    // So many places stand behind the point.
    const places = fraction.length - exponent;
    if (digits.length - places > 40) return null;
    if (places > 0) {
      if (places > digits.length || !/^0*$/.test(digits.slice(-places))) return null;
      return BigInt(`${sign}${digits.slice(0, -places) || '0'}`);
    }
    return BigInt(`${sign}${digits}${'0'.repeat(-places)}`);
  }
}
