import type { Period } from '../core/period.ts';
import { randomId } from '../core/randomness.ts';

/**
 * The records of a page, with one array for each member of the records. Scanning the next page overwrites the arrays.
 */
export interface ScannedPage {
  records: number;
  totalRecords: number;
  totalPages: number;
  body: Uint8Array;
  /** The offsets in `body` at which each tenant id begins and ends. An id is printable ASCII without escapes. */
  idStarts: Int32Array;
  idEnds: Int32Array;
  periods: Period[];
  /** The credits of each record. Credits and requests are safe integers. */
  credits: Float64Array;
  requests: Float64Array;
}

/** The names of a record's members. The first four are texts, the last two numbers. */
const MEMBERS = ['tenant_id', 'period', 'period_start', 'period_end', 'credits_used', 'request_count'];
const [TENANT_ID, PERIOD, PERIOD_END, CREDITS, REQUESTS] = [0, 1, 3, 4, 5];
const TEXT_MEMBERS = CREDITS;

const [QUOTE, MINUS, ZERO, COMMA, CLOSE, SPACE] = [0x22, 0x2d, 0x30, 0x2c, 0x5d, 0x20];
/** Integers with at most this many digits can be represented exactly as doubles. */
const MAX_SAFE_DIGITS = 15;
/** The first record must lie within this many bytes of the opening bracket. */
const MAX_FIRST_RECORD_BYTES = 4096;
/**
 * Length of the array of known months. The index of a month is made from the last digit of its year and its two month
 * digits.
 */
const MONTH_SLOTS = 4096;

/** For each byte value: 1 if it ends a text, or if the scanner does not accept it in a text; otherwise 0. */
const IS_TEXT_END = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte === QUOTE || byte < SPACE || byte > 0x7e || byte === 0x5c),
);

type PageTotals = Pick<ScannedPage, 'totalRecords' | 'totalPages'>;

/** The values that were requested and that the response must repeat. */
interface PageWhere {
  workspaceId: string;
  tenantId?: string | undefined;
}

/**
 * The parser of pages, with the rules by which it accepts a record. The scanner accepts no record that these rules
 * reject.
 */
export interface PageParser<Where extends PageWhere> {
  parse(body: Uint8Array, where: Where): { total_records: number; total_pages: number };
  isBillingMonth(period: unknown, start: unknown, end: unknown): boolean;
  maxTenantIdBytes: number;
}

/** The bytes before and after the records of a valid page, and the totals parsed from them. */
interface PageEnvelope extends PageWhere {
  head: Buffer;
  tail: Buffer;
  totals: PageTotals;
}

/** The bytes that are equal in all records of a page: those before each value, and those after the last value. */
interface RecordTemplate {
  before: Bytes[];
  after: Bytes;
  /** The members of a record in the order in which the page lists them. Each is an index in `MEMBERS`. */
  members: number[];
  /** True if `period_start` and `period_end` directly follow `period`. */
  hasSpans: boolean;
}

/** A billing month that the parser has accepted. `texts`: its name, start and end as the service writes them. */
interface Month {
  period: Period;
  texts: Bytes[];
  /** The bytes from the value of `period` to that of `period_end`; null if other members are between them. */
  span: Bytes | null;
}

/** A text that stands in place of the records while the rest of the page is checked. */
const RECORDS_PLACEHOLDER = randomId();

/**
 * Reads pages whose records all have the same form: the six members of the API specification in one order, ids in
 * printable ASCII without escapes, integers of at most 15 digits. Scanning the bytes takes half the time of parsing,
 * and ids need not become strings. The values are those that the parser would return.
 */
export class PageScanner<Where extends PageWhere> {
  readonly #parser: PageParser<Where>;
  readonly #months: (Month | undefined)[] = Array.from({ length: MONTH_SLOTS });
  #size = 0;
  #template: RecordTemplate | null = null;
  #envelope: PageEnvelope | null = null;
  #page: ScannedPage = {
    records: 0,
    totalRecords: 0,
    totalPages: 0,
    body: new Uint8Array(),
    periods: [],
    ...createColumns(128),
  };
  /** Number of further pages that are left to the parser without an attempt to scan them. */
  #coldPages: number;

  /** Leaves the first `coldPages` pages to the parser, which is faster until the engine has compiled the scanner. */
  constructor(parser: PageParser<Where>, coldPages = 0) {
    this.#parser = parser;
    this.#coldPages = coldPages;
  }

  /**
   * Scans a page. Returns null if the page has a form that the scanner does not read. The caller then passes the page
   * to the parser, which decides whether the page is valid.
   */
  scan(body: Uint8Array, where: Where): ScannedPage | null {
    if (this.#coldPages > 0) {
      this.#coldPages -= 1;
      return null;
    }
    const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const opening = /"usage"\s*:\s*\[/.exec(buffer.toString('latin1', 0, MAX_FIRST_RECORD_BYTES));
    if (opening === null) return null;
    const bracket = opening.index + opening[0].length - 1;
    const start = skipSpace(body, bracket + 1);
    let end = this.#template === null ? -1 : this.#scanRecords(body, start, this.#template);
    if (end < 0 && this.#size === 0) {
      this.#template = learnTemplate(buffer.toString('latin1', start, start + MAX_FIRST_RECORD_BYTES));
      if (this.#template !== null) end = this.#scanRecords(body, start, this.#template);
    }
    const totals = end < 0 ? null : this.#readTotals(buffer.subarray(0, bracket), buffer.subarray(end + 1), where);
    if (totals === null) return null;
    this.#page.body = body;
    this.#page.records = this.#size;
    return Object.assign(this.#page, totals);
  }

  /**
   * Returns the totals of the page. The bytes around the records are the same on all pages of a listing, so they are
   * parsed only once.
   */
  #readTotals(head: Buffer, tail: Buffer, where: Where): PageTotals | null {
    const { workspaceId, tenantId } = where;
    const known = this.#envelope;
    const isOfSame = known?.workspaceId === workspaceId && known.tenantId === tenantId;
    if (isOfSame && known.head.equals(head) && known.tail.equals(tail)) return known.totals;
    const totals = this.#parseEnvelope(head, tail, where);
    if (totals === null) return null;
    this.#envelope = { workspaceId, tenantId, head: Buffer.from(head), tail: Buffer.from(tail), totals };
    return totals;
  }

  /**
   * Parses the totals from the bytes around the records. Returns null if the records that were scanned are not the
   * array `data.usage`, or if the rest of the page is invalid.
   */
  #parseEnvelope(head: Buffer, tail: Buffer, where: Where): PageTotals | null {
    try {
      const withoutRecords = JSON.parse(`${head}[${JSON.stringify(RECORDS_PLACEHOLDER)}]${tail}`);
      if (withoutRecords?.data?.usage?.[0] !== RECORDS_PLACEHOLDER) return null;
      const { total_records, total_pages } = this.#parser.parse(Buffer.concat([head, Buffer.from('[]'), tail]), where);
      return { totalRecords: total_records, totalPages: total_pages };
    } catch {
      return null;
    }
  }

  /** Reads the records. Returns the offset at which their array ends; -1 if a record does not match the template. */
  #scanRecords(body: Uint8Array, start: number, { before, after, members, hasSpans }: RecordTemplate): number {
    const bytes = bytesOf(body);
    const starts = new Int32Array(MEMBERS.length);
    const ends = new Int32Array(MEMBERS.length);
    const numbers = new Float64Array(MEMBERS.length);
    this.#size = 0;
    for (let at = start; ; ) {
      let month: Month | null = null;
      for (let place = 0; place < members.length; place += 1) {
        const member = members[place] as number;
        at = match(bytes, at, before[place] as Bytes);
        if (at < 0) return -1;
        if (hasSpans && member === PERIOD) {
          month = this.#monthAt(body, bytes, at);
          if (month !== null) {
            at += (month.span as Bytes).length;
            place += 2;
            continue;
          }
        }
        starts[member] = at;
        if (member < TEXT_MEMBERS) {
          while (IS_TEXT_END[body[at] as number] === 0) at += 1;
        } else {
          const isNegative = body[at] === MINUS;
          if (isNegative) at += 1;
          const first = at;
          let value = 0;
          for (let digit = 0; ; at += 1) {
            digit = (body[at] as number) - ZERO;
            if (!(digit >= 0 && digit <= 9)) break;
            value = value * 10 + digit;
          }
          const digits = at - first;
          const hasNeedlessZero = body[first] === ZERO && (digits > 1 || isNegative);
          if (digits === 0 || digits > MAX_SAFE_DIGITS || hasNeedlessZero) return -1;
          numbers[member] = isNegative ? -value : value;
        }
        ends[member] = at;
      }
      at = match(bytes, at, after);
      month ??= at < 0 ? null : this.#monthOf(body, bytes, { starts, ends, hasSpans });
      if (at < 0 || month === null || !this.#appendRecord(month, starts, ends, numbers)) return -1;
      at = skipSpace(body, at);
      if (body[at] === CLOSE) return at;
      if (body[at] !== COMMA) return -1;
      at = skipSpace(body, at + 1);
    }
  }

  #appendRecord(month: Month, starts: Int32Array, ends: Int32Array, numbers: Float64Array): boolean {
    const [idStart, idEnd] = [starts[TENANT_ID] as number, ends[TENANT_ID] as number];
    if (idEnd === idStart || idEnd - idStart > this.#parser.maxTenantIdBytes) return false;
    const at = this.#size;
    if (at === this.#page.idStarts.length) this.#grow();
    const page = this.#page;
    page.idStarts[at] = idStart;
    page.idEnds[at] = idEnd;
    page.periods[at] = month.period;
    page.credits[at] = numbers[CREDITS] as number;
    page.requests[at] = numbers[REQUESTS] as number;
    this.#size += 1;
    return true;
  }

  /** Returns the known month whose name and bounds are at this offset, byte for byte; null if there is none. */
  #monthAt(body: Uint8Array, bytes: Bytes, start: number): Month | null {
    const known = this.#months[slotOf(body, start)];
    return known?.span != null && match(bytes, start, known.span) > 0 ? known : null;
  }

  #monthOf(
    body: Uint8Array,
    bytes: Bytes,
    { starts, ends, hasSpans }: { starts: Int32Array; ends: Int32Array; hasSpans: boolean },
  ): Month | null {
    const slot = slotOf(body, starts[PERIOD] as number);
    const known = this.#months[slot];
    if (known !== undefined && isSameMonth(bytes, starts, ends, known)) return known;
    const texts: Uint8Array[] = [];
    for (let member = PERIOD; member <= PERIOD_END; member += 1) texts.push(body.slice(starts[member], ends[member]));
    const [period = '', periodStart, periodEnd] = texts.map((text) => Buffer.from(text).toString('latin1'));
    if (!this.#parser.isBillingMonth(period, periodStart, periodEnd)) return null;
    const span = hasSpans ? bytesOf(body.slice(starts[PERIOD], ends[PERIOD_END])) : null;
    const month = { period, texts: texts.map(bytesOf), span };
    this.#months[slot] = month;
    return month;
  }

  #grow(): void {
    const more = createColumns(this.#page.idStarts.length * 2);
    for (const name of ['idStarts', 'idEnds', 'credits', 'requests'] as const) more[name].set(this.#page[name]);
    Object.assign(this.#page, more);
  }
}

function createColumns(records: number): Pick<ScannedPage, 'idStarts' | 'idEnds' | 'credits' | 'requests'> {
  return {
    idStarts: new Int32Array(records),
    idEnds: new Int32Array(records),
    credits: new Float64Array(records),
    requests: new Float64Array(records),
  };
}

/** Derives the template from the first record of a page; null if the scanner does not support the record's form. */
function learnTemplate(text: string): RecordTemplate | null {
  const member = /\s*[{,]\s*"(\w+)"\s*:\s*(?:"([^"\\]*)"|(-?\d+))/y;
  const before: Bytes[] = [];
  const members: number[] = [];
  let end = 0;
  for (const _ of MEMBERS) {
    const found = member.exec(text);
    if (found === null) return null;
    const [, name = '', quoted, number] = found;
    const place = MEMBERS.indexOf(name);
    if (place < 0 || members.includes(place) || (quoted !== undefined) !== place < TEXT_MEMBERS) return null;
    members.push(place);
    const valueEnd = member.lastIndex - (quoted === undefined ? 0 : 1);
    before.push(bytesOf(Buffer.from(text.slice(end, valueEnd - (quoted ?? number ?? '').length), 'latin1')));
    end = valueEnd;
  }
  const [closing] = /^"?\s*\}/.exec(text.slice(end)) ?? [];
  if (closing === undefined || !hasAllMembers(text.slice(0, end + closing.length))) return null;
  const hasSpans = members.join().includes([PERIOD, PERIOD + 1, PERIOD_END].join());
  return { before, after: bytesOf(Buffer.from(closing, 'latin1')), members, hasSpans };
}

function hasAllMembers(text: string): boolean {
  try {
    return Object.keys(JSON.parse(text)).length === MEMBERS.length;
  } catch {
    return false;
  }
}

/**
 * Returns the offset after the expected bytes; -1 if `body` has other bytes there. It compares eight bytes at a time as
 * doubles. Eight bytes of printable ASCII are never zero or NaN, so doubles are equal only if the bytes are.
 */
function match(body: Bytes, start: number, expected: Bytes): number {
  const { length } = expected;
  if (start + length > body.length) return -1;
  const [here, there] = [body.view, expected.view];
  let at = 0;
  for (; at + 8 <= length; at += 8) if (here.getFloat64(start + at, true) !== there.getFloat64(at, true)) return -1;
  if (at === length) return start + length;
  if (length > 8) {
    const last = length - 8;
    return here.getFloat64(start + last, true) === there.getFloat64(last, true) ? start + length : -1;
  }
  for (; at < length; at += 1) if (here.getUint8(start + at) !== there.getUint8(at)) return -1;
  return start + length;
}

function isSameMonth(body: Bytes, starts: Int32Array, ends: Int32Array, { texts }: Month): boolean {
  for (let member = PERIOD; member <= PERIOD_END; member += 1) {
    if (match(body, starts[member] as number, texts[member - PERIOD] as Bytes) !== ends[member]) return false;
  }
  return true;
}

/** A sequence of bytes in the form that `match` compares. */
interface Bytes {
  view: DataView;
  length: number;
}

function bytesOf({ buffer, byteOffset, length }: Uint8Array): Bytes {
  return { view: new DataView(buffer, byteOffset, length), length };
}

/** Returns the array index for the month whose name, such as `2026-03`, begins at this offset. */
function slotOf(body: Uint8Array, start: number): number {
  return (lowNibble(body[start + 3]) << 8) | (lowNibble(body[start + 5]) << 4) | lowNibble(body[start + 6]);
}

function lowNibble(byte: number | undefined): number {
  return (byte as number) & 15;
}

function skipSpace(body: Uint8Array, start: number): number {
  let at = start;
  while (body[at] === SPACE || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1;
  return at;
}
