import { isDateTime } from './check-item.ts';
import {
  holds,
  isDigit,
  isSpace,
  MINUS,
  numeralEnd,
  type Pattern,
  pattern,
  QUOTE,
  textEnd,
  textOf,
  wholeNumber,
} from './scan-json.ts';

/** A billing month as the service writes it: equal months of one scanner are mostly one object. */
export interface BillingMonth {
  /** `YYYY-MM`. */
  period: string;
  /** ISO-8601 as the service wrote it. */
  period_start: string;
  period_end: string;
}

/** A page whose records were read as columns. They are overwritten by the next page that the same scanner reads. */
export interface ScannedPage {
  size: number;
  total_records: number;
  total_pages: number;
  /** Where in the body each record's tenant id begins, and where it ends: ASCII, not empty, nothing escaped. */
  idStarts: Uint32Array;
  idEnds: Uint32Array;
  months: BillingMonth[];
  /** Integers that a double holds exactly. */
  credits: Float64Array;
  requests: Float64Array;
}

interface KnownMonth extends BillingMonth {
  /** The dates as they stand in the text, with the quotes that close them. */
  startPattern: Pattern;
  endPattern: Pattern;
}

const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
/** Bound of the months remembered: a service that makes up dates must not fill our memory. */
const MAX_MONTHS = 4096;

/** The fields of a record in the order of the interface document; their positions are the numbers used below. */
const ITEM_KEYS = keys('tenant_id', 'period', 'period_start', 'period_end', 'credits_used', 'request_count');
const [TENANT, PERIOD, START, END, CREDITS, REQUESTS] = [0, 1, 2, 3, 4, 5] as const;
const ALL_ITEM_KEYS = 0b111111;
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
  readonly #months = new Map<number, KnownMonth>();
  /** The field that stood at each position of the record before: services do not change their order. */
  readonly #order: number[] = [TENANT, PERIOD, START, END, CREDITS, REQUESTS];
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
        if (!this.#item(size)) return false;
        size += 1;
      } while (this.#take(COMMA));
    }
    this.#page.size = size;
    return this.#take(CLOSE_BRACKET);
  }

  /** Reads a record. This runs millions of times, so where it stands is a local variable. */
  #item(index: number): boolean {
    const body = this.#body;
    const view = this.#view;
    const page = this.#page;
    let at = this.#at;
    if (body[at] !== OPEN_BRACE) return false;
    let seen = 0;
    let periodFrom = 0;
    let startFrom = 0;
    let endFrom = 0;
    let month: KnownMonth | undefined;
    /** How many of its dates are the known ones. */
    let datesKnown = 0;
    for (let position = 0; position <= REQUESTS; position += 1) {
      at += 1;
      while (isSpace(body[at])) at += 1;
      const key = this.#itemKey(position, at);
      if (key < 0) return false;
      seen |= 1 << key;
      at += (ITEM_KEYS[key] as Pattern).length;
      while (isSpace(body[at])) at += 1;
      if (body[at] !== COLON) return false;
      at += 1;
      while (isSpace(body[at])) at += 1;
      const from = at + 1;
      if (key >= CREDITS) {
        const end = numeralEnd(body, at);
        if (end < 0) return false;
        (key === CREDITS ? page.credits : page.requests)[index] = wholeNumber(body, at, end);
        at = end;
      } else if (body[at] !== QUOTE) {
        return false;
      } else if (key === START && month !== undefined && holds(view, from, month.startPattern)) {
        at = from + month.startPattern.length;
        datesKnown += 1;
      } else if (key === END && month !== undefined && holds(view, from, month.endPattern)) {
        at = from + month.endPattern.length;
        datesKnown += 1;
      } else {
        const end = textEnd(body, from);
        if (end < 0) return false;
        if (key === TENANT) {
          if (end === from) return false;
          page.idStarts[index] = from;
          page.idEnds[index] = end;
        } else if (key === PERIOD) {
          const number = monthNumber(body, from, end);
          if (number < 0) return false;
          month = this.#months.get(number);
          periodFrom = from;
        } else if (key === START) startFrom = from;
        else endFrom = from;
        at = end + 1;
      }
      while (isSpace(body[at])) at += 1;
      if (body[at] !== (position === REQUESTS ? CLOSE_BRACE : COMMA)) return false;
    }
    if (seen !== ALL_ITEM_KEYS) return false;
    this.#at = at + 1;
    if (month === undefined || datesKnown < 2) {
      month = this.#newMonth(periodFrom, startFrom, endFrom, month);
      if (month === undefined) return false;
    }
    page.months[index] = month;
    return true;
  }

  /** Which field begins here, in its quotes; -1 when it is none of them. */
  #itemKey(position: number, at: number): number {
    const likely = this.#order[position] as number;
    if (holds(this.#view, at, ITEM_KEYS[likely] as Pattern)) return likely;
    const key = ITEM_KEYS.findIndex((name) => holds(this.#view, at, name));
    if (key >= 0) this.#order[position] = key;
    return key;
  }

  /** Remembers a month; where a date begins at 0 it is the one known. Undefined when one of its dates is none. */
  #newMonth(
    periodFrom: number,
    startFrom: number,
    endFrom: number,
    known: KnownMonth | undefined,
  ): KnownMonth | undefined {
    const body = this.#body;
    const dateAt = (from: number) => textOf(body, from, textEnd(body, from));
    const start = startFrom === 0 && known !== undefined ? known.period_start : dateAt(startFrom);
    const end = endFrom === 0 && known !== undefined ? known.period_end : dateAt(endFrom);
    if (!isDateTime(start) || !isDateTime(end)) return undefined;
    if (this.#months.size >= MAX_MONTHS) this.#months.clear();
    const month = {
      period: textOf(body, periodFrom, periodFrom + 7),
      period_start: start,
      period_end: end,
      startPattern: pattern(`${start}"`),
      endPattern: pattern(`${end}"`),
    };
    this.#months.set(monthNumber(body, periodFrom, periodFrom + 7), month);
    return month;
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

/** A number for each real month `YYYY-MM`; -1 for what is none. */
function monthNumber(body: Uint8Array, from: number, end: number): number {
  if (end - from !== 7 || body[from + 4] !== MINUS) return -1;
  for (let at = from; at < end; at += 1) if (at !== from + 4 && !isDigit(body[at])) return -1;
  const month = wholeNumber(body, from + 5, end);
  return month >= 1 && month <= 12 ? wholeNumber(body, from, from + 4) * 100 + month : -1;
}
