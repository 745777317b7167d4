import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  holds,
  isSpace,
  numeralEnd,
  OPEN_BRACE,
  type Pattern,
  pattern,
  QUOTE,
  textEnd,
  textOf,
  wholeNumber,
} from './scan-json.ts';
import { type RecordColumns, RecordScanner } from './scan-record.ts';

/** A page whose records were read as columns. They are overwritten by the next page that the same scanner reads. */
export interface ScannedPage extends RecordColumns {
  size: number;
  total_records: number;
  total_pages: number;
}

const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

const ENVELOPE_KEYS = keys('message', 'success', 'data');
const DATA_KEYS = keys('workspace_id', 'usage', 'total_records', 'total_pages');
const TRUE = pattern('true');
const EMPTY = new Uint8Array();

/**
 * Reads usage pages of the plain form straight from their bytes, without a string or an object a record: a fraction of
 * what parsing costs. Plain is what services write: the documented fields, each once, in any order and spacing,
 * identifiers in ASCII without escapes, integers of at most 15 digits. Whatever is not plain, be it right or wrong, is
 * left to `parseUsagePage`, which says the same of every plain page; a test holds the two together.
 */
export class PageScanner {
  readonly #records = new RecordScanner();
  #page: ScannedPage = emptyPage(128);
  #body: Uint8Array = EMPTY;
  #view: DataView = new DataView(EMPTY.buffer);
  #at = 0;

  /** The page of a workspace's listing, or null when it is not plain. */
  scan(body: Uint8Array, workspaceId: string): ScannedPage | null {
    this.#body = body;
    this.#view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    this.#at = 0;
    return this.#envelope(workspaceId) && this.#nextByte() === undefined ? this.#page : null;
  }

  #envelope(workspaceId: string): boolean {
    return this.#object(ENVELOPE_KEYS, 0b110, (key) => {
      if (key === 0) return this.#text() !== null;
      return key === 1 ? this.#true() : this.#data(workspaceId);
    });
  }

  #data(workspaceId: string): boolean {
    return this.#object(DATA_KEYS, 0b1111, (key) => {
      if (key === 0) return this.#text() === workspaceId;
      if (key === 1) return this.#items();
      const total = this.#count();
      if (key === 2) this.#page.total_records = total;
      else this.#page.total_pages = total;
      return total >= 0;
    });
  }

  /** Reads an object of these keys, each at most once and those of the bits `required` at least. */
  #object(known: readonly Pattern[], required: number, value: (key: number) => boolean): boolean {
    if (!this.#take(OPEN_BRACE)) return false;
    let seen = 0;
    do {
      this.#nextByte();
      const key = known.findIndex((name) => holds(this.#view, this.#at, name));
      if (key < 0 || (seen & (1 << key)) !== 0) return false;
      seen |= 1 << key;
      this.#at += known[key]?.length ?? 0;
      if (!this.#take(COLON)) return false;
      this.#nextByte();
      if (!value(key)) return false;
    } while (this.#take(COMMA));
    return (seen & required) === required && this.#take(CLOSE_BRACE);
  }

  #items(): boolean {
    if (!this.#take(OPEN_BRACKET)) return false;
    let size = 0;
    if (this.#nextByte() !== CLOSE_BRACKET) {
      do {
        if (size === this.#page.credits.length) this.#page = grown(this.#page);
        this.#nextByte();
        const end = this.#records.scan(this.#body, this.#view, this.#at, this.#page, size);
        if (end < 0) return false;
        this.#at = end;
        size += 1;
      } while (this.#take(COMMA));
    }
    this.#page.size = size;
    return this.#take(CLOSE_BRACKET);
  }

  /** A string without escapes and of ASCII only; null when it is none. */
  #text(): string | null {
    const from = this.#at + 1;
    const end = this.#body[this.#at] === QUOTE ? textEnd(this.#body, from) : -1;
    if (end < 0) return null;
    this.#at = end + 1;
    return textOf(this.#body, from, end);
  }

  /** A whole number from 0 on; -1 when it is none. */
  #count(): number {
    const from = this.#at;
    const end = numeralEnd(this.#body, from);
    if (end < 0) return -1;
    this.#at = end;
    return wholeNumber(this.#body, from, end);
  }

  #true(): boolean {
    if (!holds(this.#view, this.#at, TRUE)) return false;
    this.#at += TRUE.length;
    return true;
  }

  /** Takes this byte if it comes next, after spaces. */
  #take(byte: number): boolean {
    if (this.#nextByte() !== byte) return false;
    this.#at += 1;
    return true;
  }

  /** Skips spaces and gives the byte after them; undefined at the end. */
  #nextByte(): number | undefined {
    while (isSpace(this.#body[this.#at])) this.#at += 1;
    return this.#body[this.#at];
  }
}

function emptyPage(capacity: number): ScannedPage {
  return {
    ...{ size: 0, total_records: 0, total_pages: 0, months: [] },
    ...{ idStarts: new Uint32Array(capacity), idEnds: new Uint32Array(capacity) },
    ...{ credits: new Float64Array(capacity), requests: new Float64Array(capacity) },
  };
}

function grown(page: ScannedPage): ScannedPage {
  const larger = emptyPage(page.credits.length * 2);
  const { total_records, total_pages, months } = page;
  for (const column of ['idStarts', 'idEnds', 'credits', 'requests'] as const) larger[column].set(page[column]);
  return { ...larger, total_records, total_pages, months };
}

/** The names as they stand in the text, in their quotes. */
function keys(...names: string[]): Pattern[] {
  return names.map((name) => pattern(`"${name}"`));
}
