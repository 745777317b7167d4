import { isDateTime } from './answers/check-item.ts';
import {
  CLOSE_BRACE,
  COLON,
  COMMA,
  digitsEnd,
  holds,
  isDigit,
  isSpace,
  MINUS,
  numeralEnd,
  OPEN_BRACE,
  type Pattern,
  pattern,
  patternOf,
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

/** Where the records of a page go, a place in each column a record. */
export interface RecordColumns {
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
  /** What stood between tenant id and credits in a record of this month; null before there was one of the usual order. */
  middle: Pattern | null;
}

/** What stands around id, month and figures in a record of the usual order. */
interface Shape {
  /** Up to the tenant id. */
  before: Pattern;
  /** Bytes from the end of the id to the month. */
  toMonth: number;
  /** From credits to requests. */
  between: Pattern;
}

/** Bound of the months remembered: a service that makes up dates must not fill our memory. */
const MAX_MONTHS = 4096;
/** Bytes of a record whose surroundings are worth remembering: one a month is kept, however much space is in it. */
const MAX_SHAPE_BYTES = 2048;

/** The fields of a record in the order of the interface document; their positions are the numbers used below. */
const KEYS = ['tenant_id', 'period', 'period_start', 'period_end', 'credits_used', 'request_count'].map((name) =>
  pattern(`"${name}"`),
);
const [TENANT, PERIOD, START, END, CREDITS, REQUESTS] = [0, 1, 2, 3, 4, 5] as const;
const ALL_KEYS = 0b111111;

/**
 * Reads plain records from their bytes, see PageScanner. What surrounds the values is the same from one record to the
 * next: once it is known from one that was read field by field, it is compared as a whole in those that follow.
 */
export class RecordScanner {
  readonly #months = new Map<number, KnownMonth>();
  /** The field that stood at each position of the record before: services do not change their order. */
  readonly #order: number[] = [TENANT, PERIOD, START, END, CREDITS, REQUESTS];
  #lastMonth: KnownMonth | undefined;
  #shape: Shape | null = null;

  /** Reads the record that begins here; gives where it ends, or -1 when it is not plain. */
  scan(body: Uint8Array, view: DataView, from: number, columns: RecordColumns, index: number): number {
    const end = this.#shape === null ? -1 : this.#scanLike(this.#shape, body, view, from, columns, index);
    return end >= 0 ? end : this.#scanFields(body, view, from, columns, index);
  }

  /** Reads a record of this shape, of a month that is known and with figures that are not negative; -1 for any other. */
  #scanLike(
    { before, toMonth, between }: Shape,
    body: Uint8Array,
    view: DataView,
    from: number,
    columns: RecordColumns,
    index: number,
  ): number {
    if (!holds(view, from, before)) return -1;
    const idStart = from + before.length;
    const idEnd = textEnd(body, idStart);
    if (idEnd <= idStart) return -1;
    let month = this.#lastMonth;
    if (month === undefined || month.middle === null || !holds(view, idEnd, month.middle)) {
      month = this.#months.get(monthNumber(body, idEnd + toMonth, idEnd + toMonth + 7));
      if (month === undefined || month.middle === null || !holds(view, idEnd, month.middle)) return -1;
      this.#lastMonth = month;
    }
    const creditsFrom = idEnd + (month.middle as Pattern).length;
    const creditsEnd = digitsEnd(body, creditsFrom);
    if (creditsEnd < 0 || !holds(view, creditsEnd, between)) return -1;
    const requestsFrom = creditsEnd + between.length;
    const requestsEnd = digitsEnd(body, requestsFrom);
    if (requestsEnd < 0) return -1;
    let at = requestsEnd;
    while (isSpace(body[at])) at += 1;
    if (body[at] !== CLOSE_BRACE) return -1;
    columns.idStarts[index] = idStart;
    columns.idEnds[index] = idEnd;
    columns.months[index] = month;
    columns.credits[index] = wholeNumber(body, creditsFrom, creditsEnd);
    columns.requests[index] = wholeNumber(body, requestsFrom, requestsEnd);
    return at + 1;
  }

  /** Reads a record field by field. */
  #scanFields(body: Uint8Array, view: DataView, recordFrom: number, columns: RecordColumns, index: number): number {
    let at = recordFrom;
    if (body[at] !== OPEN_BRACE) return -1;
    let seen = 0;
    let periodFrom = 0;
    let startFrom = 0;
    let endFrom = 0;
    let creditsFrom = 0;
    let creditsEnd = 0;
    let requestsFrom = 0;
    let month: KnownMonth | undefined;
    /** How many of its dates are the known ones. */
    let datesKnown = 0;
    for (let position = 0; position <= REQUESTS; position += 1) {
      at += 1;
      while (isSpace(body[at])) at += 1;
      const key = this.#keyAt(view, position, at);
      if (key < 0) return -1;
      seen |= 1 << key;
      at += (KEYS[key] as Pattern).length;
      while (isSpace(body[at])) at += 1;
      if (body[at] !== COLON) return -1;
      at += 1;
      while (isSpace(body[at])) at += 1;
      const from = at + 1;
      if (key >= CREDITS) {
        const end = numeralEnd(body, at);
        if (end < 0) return -1;
        (key === CREDITS ? columns.credits : columns.requests)[index] = wholeNumber(body, at, end);
        if (key === CREDITS) {
          creditsFrom = at;
          creditsEnd = end;
        } else {
          requestsFrom = at;
        }
        at = end;
      } else if (body[at] !== QUOTE) {
        return -1;
      } else if (key === START && month !== undefined && holds(view, from, month.startPattern)) {
        at = from + month.startPattern.length;
        datesKnown += 1;
      } else if (key === END && month !== undefined && holds(view, from, month.endPattern)) {
        at = from + month.endPattern.length;
        datesKnown += 1;
      } else {
        const end = textEnd(body, from);
        if (end < 0) return -1;
        if (key === TENANT) {
          if (end === from) return -1;
          columns.idStarts[index] = from;
          columns.idEnds[index] = end;
        } else if (key === PERIOD) {
          const number = monthNumber(body, from, end);
          if (number < 0) return -1;
          month = this.#months.get(number);
          periodFrom = from;
        } else if (key === START) startFrom = from;
        else endFrom = from;
        at = end + 1;
      }
      while (isSpace(body[at])) at += 1;
      if (body[at] !== (position === REQUESTS ? CLOSE_BRACE : COMMA)) return -1;
    }
    if (seen !== ALL_KEYS) return -1;
    if (month === undefined || datesKnown < 2) {
      month = this.#newMonth(body, periodFrom, startFrom, endFrom, month);
      if (month === undefined) return -1;
    }
    columns.months[index] = month;
    const [first, , , , fifth, sixth] = this.#order;
    const usual = first === TENANT && fifth === CREDITS && sixth === REQUESTS;
    if (usual && at - recordFrom <= MAX_SHAPE_BYTES) {
      const idStart = columns.idStarts[index] as number;
      const idEnd = columns.idEnds[index] as number;
      month.middle = patternOf(body, idEnd, creditsFrom);
      this.#lastMonth = month;
      this.#shape = {
        before: patternOf(body, recordFrom, idStart),
        toMonth: periodFrom - idEnd,
        between: patternOf(body, creditsEnd, requestsFrom),
      };
    }
    return at + 1;
  }

  /** Which field begins here, in its quotes; -1 when it is none of them. */
  #keyAt(view: DataView, position: number, at: number): number {
    const likely = this.#order[position] as number;
    if (holds(view, at, KEYS[likely] as Pattern)) return likely;
    const key = KEYS.findIndex((name) => holds(view, at, name));
    if (key >= 0) this.#order[position] = key;
    return key;
  }

  /** Remembers a month; where a date begins at 0 it is the one known. Undefined when one of its dates is none. */
  #newMonth(
    body: Uint8Array,
    periodFrom: number,
    startFrom: number,
    endFrom: number,
    known: KnownMonth | undefined,
  ): KnownMonth | undefined {
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
      middle: null,
    };
    this.#months.set(monthNumber(body, periodFrom, periodFrom + 7), month);
    return month;
  }
}

/** A number for each real month `YYYY-MM`; -1 for what is none. */
function monthNumber(body: Uint8Array, from: number, end: number): number {
  if (end - from !== 7 || body[from + 4] !== MINUS) return -1;
  for (let at = from; at < end; at += 1) if (at !== from + 4 && !isDigit(body[at])) return -1;
  const month = wholeNumber(body, from + 5, end);
  return month >= 1 && month <= 12 ? wholeNumber(body, from, from + 4) * 100 + month : -1;
}
