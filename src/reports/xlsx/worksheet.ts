import { DAY_MS } from '../../core/durations.ts';
import { plainDecimal } from '../../core/money.ts';
import type { ColumnKind, Sheet, SheetColumn, SheetValue } from '../formats/columns.ts';

/** The maximum number of rows in a worksheet, including the header. */
const SHEET_ROWS = 1_048_576;
const CHUNK_LENGTH = 65_536;
/**
 * Excel keeps this many digits of a number. A longer number is written as text, because its last digits would be lost
 * otherwise.
 */
const MAX_EXCEL_DIGITS = 15;
/** Column widths in characters, wide enough to read ids. */
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
/** The Unix epoch as a spreadsheet date: the number of days since 1899-12-30. */
const EPOCH_DAY = 25_569;

/**
 * The rows of a sheet that are not written yet. Rows that do not fit into one worksheet are written to the next one.
 */
export class SheetRows {
  readonly sheet: Sheet;
  isDone = false;
  readonly #totals: SheetTotals;
  readonly #rows: Iterator<readonly SheetValue[]>;
  #next: IteratorResult<readonly SheetValue[]>;

  constructor(sheet: Sheet) {
    this.sheet = sheet;
    this.#totals = new SheetTotals(sheet.columns);
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

  /**
   * Returns the rows with the totals, to be written after all other rows. Returns none while rows remain, or if the
   * `lines` that are free in the worksheet are too few for an empty line and the totals.
   */
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
 * Formats the next worksheet and yields its XML in chunks. The header row is frozen and repeats on each printed page;
 * pages are landscape and as wide as the sheet. Numbers of up to 15 digits are number cells; longer numbers are text
 * cells with all digits. No cell is a formula, whatever its text begins with.
 */
export function* worksheetPieces(rows: SheetRows): Generator<string> {
  const { columns } = rows.sheet;
  const letters = columns.map((_, at) => columnName(at));
  let piece = worksheetHead(columns);
  let line = 1;
  const writeRow = (cells: readonly string[]): void => {
    piece += `<row r="${line}">${cells.join('')}</row>`;
    line += 1;
  };
  writeRow(columns.map(({ name }, at) => textCellXml(`${letters[at]}1`, name, HEADER_STYLE)));
  while (!rows.isEmpty && line <= SHEET_ROWS) {
    writeRow(rows.take().map((value, at) => cellXml(`${letters[at]}${line}`, value, columns[at] as SheetColumn)));
    if (piece.length < CHUNK_LENGTH) continue;
    yield piece;
    piece = '';
  }
  const totals = rows.takeTotals(SHEET_ROWS - line + 1);
  // An empty line separates the totals from the rows, so that a spreadsheet does not sort the totals among them.
  line += 1;
  for (const total of totals) {
    writeRow(total.map((value, at) => cellXml(`${letters[at]}${line}`, value, columns[at] as SheetColumn, true)));
  }
  yield `${piece}${FOOT}`;
}

function worksheetHead(columns: readonly SheetColumn[]): string {
  const widths = columns.map(({ name, kind }, at) => {
    const width = Math.max(WIDTHS[kind] ?? OTHER_WIDTH, name.length + 2);
    return `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`;
  });
  return `${XML_DECLARATION}<worksheet xmlns="${MAIN_NAMESPACE}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/><cols>${widths.join('')}</cols><sheetData>`;
}

const FOOT =
  '</sheetData><pageMargins left="0.4" right="0.4" top="0.6" bottom="0.6" header="0.3" footer="0.3"/><pageSetup orientation="landscape" fitToWidth="1" fitToHeight="0"/><headerFooter><oddFooter>&amp;L&amp;A&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter></worksheet>';

function cellXml(place: string, value: SheetValue, { kind }: SheetColumn, isTotal = false): string {
  if (value === null) return '';
  if (typeof value === 'boolean') return `<c r="${place}" t="b"><v>${value ? 1 : 0}</v></c>`;
  const text = String(value);
  const format = kind === 'amount' ? amountFormat(text) : FORMAT_OF[kind];
  const number = cellNumber(text, kind);
  if (number === null) return textCellXml(place, text, cellStyle(kind === 'id' ? 'text' : 'general', isTotal));
  return `<c r="${place}" s="${cellStyle(format, isTotal)}"><v>${number}</v></c>`;
}

/** Returns the number to write into the cell; null if the cell is to contain text. */
function cellNumber(text: string, kind: ColumnKind): number | string | null {
  if (kind === 'id' || kind === 'text' || kind === 'flag') return null;
  if (kind === 'date' || kind === 'day') {
    const days = Date.parse(text) / DAY_MS + EPOCH_DAY;
    return days >= 1 ? days : null;
  }
  if (kind === 'double') return text;
  const digits = text.replace(/[-.]/g, '').replace(/^0+/, '');
  return digits.length <= MAX_EXCEL_DIGITS && /^-?\d+(\.\d+)?$/.test(text) ? text : null;
}

/** Returns the number format with as many decimal places as the amount has. */
function amountFormat(plain: string): CellFormat {
  const point = plain.indexOf('.');
  if (point < 0) return 'integer';
  const digits = plain.length - point - 1;
  return digits === 3 ? 'amount3' : digits === 4 ? 'amount4' : 'amount2';
}

function textCellXml(place: string, text: string, style: number): string {
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${xmlText(text)}</t></is></c>`;
}

function columnName(at: number): string {
  const last = String.fromCharCode(65 + (at % 26));
  return at < 26 ? last : `${columnName(Math.floor(at / 26) - 1)}${last}`;
}

/**
 * Matches characters that XML does not allow, and underscores that a reader of the format would take for the start of
 * an escape.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is escaped
const ESCAPED = /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g;
const MARKUP = /[&<>]/g;
const XML_ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(ESCAPED, (character) => `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`)
    .replace(MARKUP, (character) => XML_ESCAPES[character] ?? '');
}

class SheetTotals {
  readonly #columns: readonly SheetColumn[];
  readonly #currencyAt: number;
  readonly #integers: (bigint | null)[];
  readonly #amounts = new Map<string, Map<number, ScaledDecimal>>();

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
    const own = this.#amounts.get(currency) ?? new Map<number, ScaledDecimal>();
    this.#amounts.set(currency, own.set(at, addDecimal(own.get(at) ?? { digits: 0, units: 0n }, plain)));
  }

  /**
   * Returns the rows with the totals. The first row has the totals of the integer columns and of the amounts in the
   * first currency. Each further currency has a row of its own. Returns no rows if no column has a total.
   */
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

interface ScaledDecimal {
  digits: number;
  units: bigint;
}

function addDecimal({ digits, units }: ScaledDecimal, plain: string): ScaledDecimal {
  const [whole = '', part = ''] = plain.split('.');
  const scale = Math.max(digits, part.length);
  return { digits: scale, units: units * 10n ** BigInt(scale - digits) + BigInt(whole + part.padEnd(scale, '0')) };
}

export const XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
export const MAIN_NAMESPACE = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

const CELL_FORMATS = {
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

type CellFormat = keyof typeof CELL_FORMATS;

const FORMAT_NAMES = Object.keys(CELL_FORMATS) as CellFormat[];
/** The id of our first number format. Lower ids are reserved for built-in formats. */
const FIRST_FREE_ID = 164;

/** Returns the index of the cell style for a number format. Cells of totals have styles of their own. */
function cellStyle(format: CellFormat, isTotal = false): number {
  return FORMAT_NAMES.indexOf(format) + (isTotal ? FORMAT_NAMES.length : 0);
}

const HEADER_STYLE = 2 * FORMAT_NAMES.length;

export function stylesXml(): string {
  const list = (tag: string, items: readonly string[]): string =>
    `<${tag} count="${items.length}">${items.join('')}</${tag}>`;
  const border = (side: string): string =>
    `<border><left/><right/>${side === 'top' ? '<top style="thin"/>' : '<top/>'}${side === 'bottom' ? '<bottom style="thin"/>' : '<bottom/>'}<diagonal/></border>`;
  const cell = (id: number, look: string): string => `<xf numFmtId="${id}" ${look} xfId="0" applyNumberFormat="1"/>`;
  const ids = FORMAT_NAMES.map((_, at) => FIRST_FREE_ID + at);
  const plain = 'fontId="0" fillId="0" borderId="0"';
  const total = 'fontId="1" fillId="0" borderId="1" applyFont="1" applyBorder="1"';
  const header = 'fontId="1" fillId="2" borderId="2" applyFont="1" applyFill="1" applyBorder="1"';
  return `${XML_DECLARATION}<styleSheet xmlns="${MAIN_NAMESPACE}">${[
    list(
      'numFmts',
      FORMAT_NAMES.map((name, at) => `<numFmt numFmtId="${ids[at]}" formatCode="${CELL_FORMATS[name]}"/>`),
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
