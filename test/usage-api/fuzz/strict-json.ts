/** JSON by RFC 8259 and nothing else: numbers keep their source, and it is noted whether some name stands twice. */
export type Json = null | boolean | string | Numeral | Json[] | Map<string, Json>;

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

export interface Read {
  value: Json;
  /** A name stands twice in an object: which of the two counts is anybody's guess. */
  ambiguous: boolean;
}

/** Null for what is no JSON. */
export function readJson(text: string): Read | null {
  const reader = new Reader(text);
  try {
    const value = reader.document();
    return { value, ambiguous: reader.ambiguous };
  } catch (error) {
    if (error instanceof NotJson) return null;
    throw error;
  }
}

class NotJson extends Error {}

const ESCAPES: Record<string, string> = {
  ...{ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' },
};
const WORDS = [
  ['true', true],
  ['false', false],
  ['null', null],
] as const;

class Reader {
  ambiguous = false;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    const value = this.#value();
    this.#space();
    if (this.#at !== this.#text.length) throw new NotJson();
    return value;
  }

  #value(): Json {
    this.#space();
    if (this.#take('{')) return this.#object();
    if (this.#take('[')) return this.#array();
    if (this.#take('"')) return this.#string();
    for (const [word, value] of WORDS) if (this.#take(word)) return value;
    const numeral = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
    numeral.lastIndex = this.#at;
    const source = numeral.exec(this.#text)?.[0];
    if (source === undefined) throw new NotJson();
    this.#at += source.length;
    return new Numeral(source);
  }

  #object(): Json {
    const fields = new Map<string, Json>();
    this.#space();
    if (this.#take('}')) return fields;
    do {
      this.#space();
      this.#demand('"');
      const name = this.#string();
      this.#space();
      this.#demand(':');
      const value = this.#value();
      this.ambiguous ||= fields.has(name);
      fields.set(name, value);
      this.#space();
    } while (this.#take(','));
    this.#demand('}');
    return fields;
  }

  #array(): Json {
    const items: Json[] = [];
    this.#space();
    if (this.#take(']')) return items;
    do {
      items.push(this.#value());
      this.#space();
    } while (this.#take(','));
    this.#demand(']');
    return items;
  }

  #string(): string {
    let content = '';
    for (;;) {
      const character = this.#text[this.#at++];
      if (character === undefined || character < ' ') throw new NotJson();
      if (character === '"') return content;
      content += character === '\\' ? this.#escape() : character;
    }
  }

  #escape(): string {
    const letter = this.#text[this.#at++] ?? '';
    if (letter !== 'u') {
      const plain = ESCAPES[letter];
      if (plain === undefined) throw new NotJson();
      return plain;
    }
    const code = this.#text.slice(this.#at, this.#at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(code)) throw new NotJson();
    this.#at += 4;
    return String.fromCharCode(Number.parseInt(code, 16));
  }

  #space(): void {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1;
  }

  #take(token: string): boolean {
    if (!this.#text.startsWith(token, this.#at)) return false;
    this.#at += token.length;
    return true;
  }

  #demand(token: string): void {
    if (!this.#take(token)) throw new NotJson();
  }
}
