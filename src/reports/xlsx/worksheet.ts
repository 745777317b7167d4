import { DAY_MS } from '../../core/durations.ts';
import { plainDecimal } from '../../core/money.ts';
import type { ColumnKind, Sheet, SheetColumn, SheetValue } from '../formats/columns.ts';

/** Rows that a sheet can hold, with its header. */
const SHEET_ROWS = 1_048_576;
const PIECE_LENGTH = 65_536;
/** Excel keeps so many digits of a number; longer ones are written as text, or their end would be lost. */
const EXACT_DIGITS = 15;
/** Characters, so that ids can be read without a change. */
const WIDTHS: Partial<Record<ColumnKind, number>> = { id: 24, text: 24, date: 20 };
const OTHER_WIDTH = 14;
const FORMAT_OF: Readonly<Record<Exclude<ColumnKind, 'amount'>, CellFormat>> = {
  id: 'text',
  text: 'general',
  credits: 'integer',
  count: 'integer',
  price: 'price',
  decimal: 'general',
  double: 'double',
  date: 'date',
  day: 'day',
  flag: 'general',
};
/** Days from the first of a spreadsheet to that of the clock. */
const EPOCH_DAY = 25_569;

/** What of a sheet is still to be written, for what exceeds one worksheet goes on in another. */
export class SheetRows {
  readonly sheet: Sheet;
  isDone = false;
  readonly #totals: Totals;
  readonly #rows: Iterator<readonly SheetValue[]>;
  #next: IteratorResult<readonly SheetValue[]>;

  constructor(sheet: Sheet) {
    this.sheet = sheet;
    this.#totals = new Totals(sheet.columns);
    this.#rows = sheet.rows[Symbol.iterator]();
    this.#next = this.#rows.next();
  }

  get isEmpty(): boolean {
    return this.#next.done === true;
  }

  take(): readonly SheetValue[] {
    const row = this.#next.value as readonly SheetValue[];
    this.#totals.add(row);
    this.#next = this.#rows.next();
    return row;
  }

  /** What all rows come to; none as long as there are more, or where so many lines have no room for it and an empty one. */
  takeTotals(lines: number): SheetValue[][] {
    const totals = this.#totals.rows;
    if (!this.isEmpty || (totals.length > 0 && totals.length >= lines)) return [];
    this.isDone = true;
    return totals;
  }

  close(): void {
    this.#rows.return?.();
  }
}

/**
 * The next worksheet of the rows, a piece at a time: a header that stays in sight and comes again on each page, landscape, as wide as
 * the page. Numbers are numbers up to 15 digits, beyond that exact text. Text is text, whatever it begins with: no cell is a formula.
 */
export function* worksheetPieces(rows: SheetRows): Generator<string> {
  const { columns } = rows.sheet;
  const letters = columns.map((_, at) => lettersOf(at));
  let piece = headOf(columns);
  let line = 1;
  const put = (cells: readonly string[]): void => {
    piece += `<row r="${line}">${cells.join('')}</row>`;
    line += 1;
  };
  put(columns.map(({ name }, at) => textCell(`${letters[at]}1`, name, HEADER_STYLE)));
  while (!rows.isEmpty && line <= SHEET_ROWS) {
    put(rows.take().map((value, at) => cellOf(`${letters[at]}${line}`, value, columns[at] as SheetColumn)));
    if (piece.length < PIECE_LENGTH) continue;
    yield piece;
    piece = '';
  }
  const totals = rows.takeTotals(SHEET_ROWS - line + 1);
  // An empty line keeps them out of what a spreadsheet sorts.
  line += 1;
  for (const total of totals) {
    put(total.map((value, at) => cellOf(`${letters[at]}${line}`, value, columns[at] as SheetColumn, true)));
  }
  yield `${piece}${FOOT}`;
}

function headOf(columns: readonly SheetColumn[]): string {
  const widths = columns.map(({ name, kind }, at) => {
    const width = Math.max(WIDTHS[kind] ?? OTHER_WIDTH, name.length + 2);
    return `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`;
  });
  return `${XML}<worksheet xmlns="${MAIN}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/><cols>${widths.join('')}</cols><sheetData>`;
}

const FOOT =
  '</sheetData><pageMargins left="0.4" right="0.4" top="0.6" bottom="0.6" header="0.3" footer="0.3"/><pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/><headerFooter><oddFooter>&amp;L&amp;A&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter></worksheet>';

function cellOf(place: string, value: SheetValue, { kind }: SheetColumn, isTotal = false): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`;
  const text = String(value);
  const format = kind === 'amount' ? amountFormat(text) : FORMAT_OF[kind];
  const number = numberOf(text, kind);
  if (number === null) return textCell(place, text, styleOf(kind === 'id' ? 'text' : 'general', isTotal));
  return `<c r="${place}" s="${styleOf(format, isTotal)}"><v>${number}</v></c>`;
}

/** What stands in a cell as a number; null: it is text. */
function numberOf(text: string, kind: ColumnKind): number | string | null {
  if (kind === 'id' || kind === 'text' || kind === 'flag') return null;
  if (kind === 'date' || kind === 'day') {
    const days = Date.parse(text) / DAY_MS + EPOCH_DAY;
    return days >= 1 ? days : null;
  }
  if (kind === 'double') return text;
  const digits = text.replace(/[-.]/g, '').replace(/^0+/, '');
  return digits.length <= EXACT_DIGITS && /^-?\d+(\.\d+)?$/.test(text) ? text : null;
}

/** As many decimals as the currency has. */
function amountFormat(plain: string): CellFormat {
  const point = plain.indexOf('.');
  if (point < 0) return 'integer';
  const digits = plain.length - point - 1;
  return digits === 3 ? 'amount3' : digits === 4 ? 'amount4' : 'amount2';
}

function textCell(place: string, text: string, style: number): string {
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`;
}

function lettersOf(at: number): string {
  const last = String.fromCharCode(65 + (at % 26));
  return at < 26 ? last : `${lettersOf(Math.floor(at / 26) - 1)}${last}`;
}

/** What XML does not have, and what a reader of the format would take for an escape of it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
const ESCAPED = /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g;
const MARKUP = /[&<>]/g;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(ESCAPED, (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(MARKUP, (character) => ENTITIES[character] ?? '');
}

class Totals {
  readonly #columns: readonly SheetColumn[];
  readonly #currencyAt: number;
  readonly #integers: (bigint | null)[];
  readonly #amounts = new Map<string, Map<number, Decimal>>();

  constructor(columns: readonly SheetColumn[]) {
    this.#columns = columns;
    this.#currencyAt = columns.findIndex(({ name }) => name === 'currency');
    this.#integers = columns.map(() => null);
  }

  add(row: readonly SheetValue[]): void {
    for (const [at, { sum, kind }] of this.#columns.entries()) {
      const value = row[at] ?? null;
      if (sum !== true || value === null) continue;
      if (kind === 'amount') this.#addAmount(row[this.#currencyAt] ?? null, at, String(value));
      else this.#integers[at] = (this.#integers[at] ?? 0n) + BigInt(value);
    }
  }

  #addAmount(currency: SheetValue, at: number, plain: string): void {
    if (typeof currency !== 'string') return;
    const own = this.#amounts.get(currency) ?? new Map<number, Decimal>();
    this.#amounts.set(currency, own.set(at, sumOf(own.get(at) ?? { digits: 0, units: 0n }, plain)));
  }

  /** Rows below the others: one of the integers, with the amounts of the first currency, and one for each further currency. */
  get rows(): SheetValue[][] {
    const currencies = [...this.#amounts.keys()].sort();
    if (currencies.length === 0 && this.#integers.every((sum) => sum === null)) return [];
    return (currencies.length === 0 ? [null] : currencies).map((currency, index) =>
      this.#columns.map((_, at) => {
        const amount = currency === null ? undefined : this.#amounts.get(currency)?.get(at);
        if (amount !== undefined) return plainDecimal(amount.units, amount.digits);
        if (at === this.#currencyAt) return currency;
        if (at === 0) return 'Total';
        return index === 0 ? (this.#integers[at] ?? null) : null;
      }),
    );
  }
}

interface Decimal {
  digits: number;
  units: bigint;
}

function sumOf({ digits, units }: Decimal, plain: string): Decimal {
  const [whole = '', part = ''] = plain.split('.');
  const wanted = Math.max(digits, part.length);
  return { digits: wanted, units: units * 10n ** BigInt(wanted - digits) + BigInt(whole + part.padEnd(wanted, '0')) };
}

export const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
export const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

const FORMATS = {
  general: 'General',
  text: '@',
  integer: '#,##0',
  amount2: '#,##0.00',
  amount3: '#,##0.000',
  amount4: '#,##0.0000',
  price: '#,##0.00################',
  double: '0.00',
  date: 'yyyy-mm-dd hh:mm:ss',
  day: 'yyyy-mm-dd',
} as const;

type CellFormat = keyof typeof FORMATS;

const NAMES = Object.keys(FORMATS) as CellFormat[];
/** Those below belong to the program that reads the file. */
const FIRST_FREE_ID = 164;

/** The number of a cell's style; cells of totals stand out. */
function styleOf(format: CellFormat, isTotal = false): number {
  return NAMES.indexOf(format) + (isTotal ? NAMES.length : 0);
}

const HEADER_STYLE = 2 * NAMES.length;

export function stylesXml(): string {
  const list = (tag: string, items: readonly string[]): string =>
    `<${tag} count="${items.length}">${items.join('')}</${tag}>`;
  const border = (side: string): string =>
    `<border><left/><right/>${side === 'top' ? '<top style="thin"/>' : '<top/>'}${side === 'bottom' ? '<bottom style="thin"/>' : '<bottom/>'}<diagonal/></border>`;
  const cell = (id: number, look: string): string => `<xf numFmtId="${id}" ${look} xfId="0" applyNumberFormat="1"/>`;
  const ids = NAMES.map((_, at) => FIRST_FREE_ID + at);
  const plain = 'fontId="0" fillId="0" borderId="0"';
  const total = 'fontId="1" fillId="0" borderId="1" applyFont="1" applyBorder="1"';
  const header = 'fontId="1" fillId="2" borderId="2" applyFont="1" applyFill="1" applyBorder="1"';
  return `${XML}<styleSheet xmlns="${MAIN}">${[
    list(
      'numFmts',
      NAMES.map((name, at) => `<numFmt numFmtId="${ids[at]}" formatCode="${FORMATS[name]}"/>`),
    ),
    list(
      'fonts',
      ['', '<b/>'].map((bold) => `<font>${bold}<sz val="11"/><name val="Calibri"/></font>`),
    ),
    list('fills', [
      ...['none', 'gray125'].map((pattern) => `<fill><patternFill patternType="${pattern}"/></fill>`),
      '<fill><patternFill patternType="solid"><fgColor rgb="FFE7EAF0"/></patternFill></fill>',
    ]),
    list('borders', ['none', 'top', 'bottom'].map(border)),
    list('cellStyleXfs', [`<xf numFmtId="0" ${plain}/>`]),
    list('cellXfs', [...ids.map((id) => cell(id, plain)), ...ids.map((id) => cell(id, total)), cell(0, header)]),
    list('cellStyles', ['<cellStyle name="Normal" xfId="0" builtinId="0"/>']),
  ].join('')}</styleSheet>`;
}
