import type { Period } from '../../core/period.ts';
import { randomId } from '../../core/randomness.ts';
import { isBillingMonth, MAX_TENANT_ID_BYTES, type PageWhere, parseUsagePage } from './check-page.ts';

/** The records of a page in columns, which those of the next page overwrite. */
export interface PlainPage {
  records: number;
  totalRecords: number;
  totalPages: number;
  body: Uint8Array;
  /** Where in the body each tenant's id begins and ends: printable ASCII without escapes. */
  idStarts: Int32Array;
  idEnds: Int32Array;
  periods: Period[];
  /** Safe integers, like the requests. */
  credits: Float64Array;
  requests: Float64Array;
}

/** The members of a record, texts before numbers. */
const MEMBERS = ['tenant_id', 'period', 'period_start', 'period_end', 'credits_used', 'request_count'];
const [TENANT_ID, PERIOD, PERIOD_END, CREDITS, REQUESTS] = [0, 1, 3, 4, 5];
const TEXTS = CREDITS;

const [QUOTE, MINUS, ZERO, COMMA, CLOSE, SPACE] = [0x22, 0x2d, 0x30, 0x2c, 0x5d, 0x20];
/** A run of so many digits is exact in a double. */
const MAX_DIGITS = 15;
/** In which the first record of a page is looked for. */
const RECORD_BYTES = 4096;
/** Places of months, by the last digit of their year and by their number. */
const MONTHS = 4096;

/** By byte: 1 for those that end a text, or are not read here. */
const ENDS_TEXT = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte === QUOTE || byte < SPACE || byte > 0x7e || byte === 0x5c),
);

type Totals = Pick<PlainPage, 'totalRecords' | 'totalPages'>;

/** What stood around the records of a page that was right, and what that said. */
interface Around extends Pick<PageWhere, 'workspaceId' | 'tenantId'> {
  head: Buffer;
  tail: Buffer;
  totals: Totals;
}

/** The bytes of a record that are the same in each: before every value, and after the last one. */
interface Template {
  before: Bytes[];
  after: Bytes;
  /** Which member each value is, by its place in `MEMBERS`. */
  members: number[];
  /** A period's bounds follow it at once. */
  hasSpans: boolean;
}

/** A month and its bounds as the service writes them, which were checked. */
interface Month {
  period: Period;
  texts: Bytes[];
  /** From the label to the last bound, where nothing else stands between them. */
  span: Bytes | null;
}

/** What stands in the place of a page's records while the rest of it is checked. */
const HOLE = randomId();

/**
 * Reads pages whose records are all alike: the six members of the interface document in one order, ids in printable ASCII
 * without escapes, integers of at most 15 digits. Reading their bytes takes half the time of parsing, and no id becomes a
 * text. Null for any other page, right or wrong: `parseUsagePage` says what it is. What is read here is what that would read.
 */
export class PageScanner {
  readonly #months: (Month | undefined)[] = Array.from({ length: MONTHS });
  #size = 0;
  #template: Template | null = null;
  #around: Around | null = null;
  #page: PlainPage = {
    records: 0,
    totalRecords: 0,
    totalPages: 0,
    body: new Uint8Array(),
    periods: [],
    ...columns(128),
  };
  /** How many pages are still left to the parser. */
  #cold: number;

  /** Until the scan is compiled, parsing is faster: a process that reads only so many pages, or fewer, parses them all. */
  constructor(coldPages = 0) {
    this.#cold = coldPages;
  }

  scan(body: Uint8Array, where: PageWhere): PlainPage | null {
    if (this.#cold > 0) {
      this.#cold -= 1;
      return null;
    }
    const buffer = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const opening = /"usage"\s*:\s*\[/.exec(buffer.toString('latin1', 0, RECORD_BYTES));
    if (opening === null) return null;
    const bracket = opening.index + opening[0].length - 1;
    const start = skipSpace(body, bracket + 1);
    let end = this.#template === null ? -1 : this.#scanRecords(body, start, this.#template);
    if (end < 0 && this.#size === 0) {
      this.#template = learnTemplate(buffer.toString('latin1', start, start + RECORD_BYTES));
      if (this.#template !== null) end = this.#scanRecords(body, start, this.#template);
    }
    const totals = end < 0 ? null : this.#totalsAround(buffer.subarray(0, bracket), buffer.subarray(end + 1), where);
    if (totals === null) return null;
    this.#page.body = body;
    this.#page.records = this.#size;
    return Object.assign(this.#page, totals);
  }

  /** The pages of one listing say the same around their records: it is read once. */
  #totalsAround(head: Buffer, tail: Buffer, where: PageWhere): Totals | null {
    const { workspaceId, tenantId } = where;
    const known = this.#around;
    const isOfSame = known?.workspaceId === workspaceId && known.tenantId === tenantId;
    if (isOfSame && known.head.equals(head) && known.tail.equals(tail)) return known.totals;
    const totals = readAround(head, tail, where);
    if (totals === null) return null;
    this.#around = { workspaceId, tenantId, head: Buffer.from(head), tail: Buffer.from(tail), totals };
    return totals;
  }

  /** Where the array of the records ends; -1 when some byte is not as in a page of this template. */
  #scanRecords(body: Uint8Array, start: number, { before, after, members, hasSpans }: Template): number {
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
        if (member < TEXTS) {
          while (ENDS_TEXT[body[at] as number] === 0) at += 1;
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
          if (digits === 0 || digits > MAX_DIGITS || hasNeedlessZero) return -1;
          numbers[member] = isNegative ? -value : value;
        }
        ends[member] = at;
      }
      at = match(bytes, at, after);
      month ??= at < 0 ? null : this.#monthOf(body, bytes, { starts, ends, hasSpans });
      if (at < 0 || month === null || !this.#keep(month, starts, ends, numbers)) return -1;
      at = skipSpace(body, at);
      if (body[at] === CLOSE) return at;
      if (body[at] !== COMMA) return -1;
      at = skipSpace(body, at + 1);
    }
  }

  #keep(month: Month, starts: Int32Array, ends: Int32Array, numbers: Float64Array): boolean {
    const [idStart, idEnd] = [starts[TENANT_ID] as number, ends[TENANT_ID] as number];
    if (idEnd === idStart || idEnd - idStart > MAX_TENANT_ID_BYTES) return false;
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

  /** The month whose label and bounds stand here as they stood before; null when others do. */
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
    if (known !== undefined && isSame(bytes, starts, ends, known)) return known;
    const texts: Uint8Array[] = [];
    for (let member = PERIOD; member <= PERIOD_END; member += 1) texts.push(body.slice(starts[member], ends[member]));
    const [period = '', periodStart, periodEnd] = texts.map((text) => Buffer.from(text).toString('latin1'));
    if (!isBillingMonth(period, periodStart, periodEnd)) return null;
    const span = hasSpans ? bytesOf(body.slice(starts[PERIOD], ends[PERIOD_END])) : null;
    const month = { period, texts: texts.map(bytesOf), span };
    this.#months[slot] = month;
    return month;
  }

  #grow(): void {
    const more = columns(this.#page.idStarts.length * 2);
    for (const name of ['idStarts', 'idEnds', 'credits', 'requests'] as const) more[name].set(this.#page[name]);
    Object.assign(this.#page, more);
  }
}

function columns(records: number): Pick<PlainPage, 'idStarts' | 'idEnds' | 'credits' | 'requests'> {
  return {
    idStarts: new Int32Array(records),
    idEnds: new Int32Array(records),
    credits: new Float64Array(records),
    requests: new Float64Array(records),
  };
}

/** How the first record of a page is written; null when it is not one of those that are read here. */
function learnTemplate(text: string): Template | null {
  const member = /\s*[{,]\s*"(\w+)"\s*:\s*(?:"([^"\\]*)"|(-?\d+))/y;
  const before: Bytes[] = [];
  const members: number[] = [];
  let end = 0;
  for (const _ of MEMBERS) {
    const found = member.exec(text);
    if (found === null) return null;
    const [, name = '', quoted, number] = found;
    const place = MEMBERS.indexOf(name);
    if (place < 0 || members.includes(place) || (quoted !== undefined) !== place < TEXTS) return null;
    members.push(place);
    const valueEnd = member.lastIndex - (quoted === undefined ? 0 : 1);
    before.push(bytesOf(Buffer.from(text.slice(end, valueEnd - (quoted ?? number ?? '').length), 'latin1')));
    end = valueEnd;
  }
  const [closing] = /^"?\s*\}/.exec(text.slice(end)) ?? [];
  if (closing === undefined || !isRecord(text.slice(0, end + closing.length))) return null;
  const hasSpans = members.join().includes([PERIOD, PERIOD + 1, PERIOD_END].join());
  return { before, after: bytesOf(Buffer.from(closing, 'latin1')), members, hasSpans };
}

function isRecord(text: string): boolean {
  try {
    return Object.keys(JSON.parse(text)).length === MEMBERS.length;
  } catch {
    return false;
  }
}

/**
 * What a page says beside its records, which must be those of `data.usage`; null when they are not, or the rest is not
 * right.
 */
function readAround(head: Buffer, tail: Buffer, where: PageWhere): Totals | null {
  try {
    const holed = JSON.parse(`${head}[${JSON.stringify(HOLE)}]${tail}`);
    if (holed?.data?.usage?.[0] !== HOLE) return null;
    const { total_records, total_pages } = parseUsagePage(Buffer.concat([head, Buffer.from('[]'), tail]), where);
    return { totalRecords: total_records, totalPages: total_pages };
  } catch {
    return null;
  }
}

/**
 * Where the bytes end that are expected here; -1 when others stand here. Eight at a time, as doubles: those of printable
 * ASCII are no zeros and no NaN, so they are equal when their bytes are.
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

function isSame(body: Bytes, starts: Int32Array, ends: Int32Array, { texts }: Month): boolean {
  for (let member = PERIOD; member <= PERIOD_END; member += 1) {
    if (match(body, starts[member] as number, texts[member - PERIOD] as Bytes) !== ends[member]) return false;
  }
  return true;
}

/** Bytes that are compared. */
interface Bytes {
  view: DataView;
  length: number;
}

function bytesOf({ buffer, byteOffset, length }: Uint8Array): Bytes {
  return { view: new DataView(buffer, byteOffset, length), length };
}

/** Of a month whose label begins here. */
function slotOf(body: Uint8Array, start: number): number {
  return (low(body[start + 3]) << 8) | (low(body[start + 5]) << 4) | low(body[start + 6]);
}

function low(byte: number | undefined): number {
  return (byte as number) & 15;
}

function skipSpace(body: Uint8Array, start: number): number {
  let at = start;
  while (body[at] === SPACE || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at += 1;
  return at;
}
