import stringWidth from 'string-width';
import { formatMinute } from '../../core/date-time.ts';
import { inertText } from '../../core/text/inert-text.ts';
import {
  type Alignment,
  type CellStyle,
  type Column,
  type ColumnKind,
  formatDecimal,
  formatInteger,
  type TableColumn,
} from './columns.ts';

const ANSI_STYLES: Readonly<Record<CellStyle, readonly [on: number, off: number]>> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
};

/** The kinds of columns whose cells are aligned right: numbers. */
const RIGHT_ALIGNED_KINDS: readonly unknown[] = [
  'credits',
  'count',
  'amount',
  'price',
  'decimal',
  'double',
] satisfies ColumnKind[];

export interface TableOptions {
  color?: boolean;
  /**
   * The width of the terminal in columns. If the table is wider, ids are shortened in the middle and other text is
   * wrapped to a few lines; numbers are never cut. If undefined, every cell is one line.
   */
  width?: number | undefined;
}

interface StyledCell {
  text: string;
  style: CellStyle | undefined;
}

const GAP = '  ';
const WIDE_TERMINAL_COLUMNS = 120;
const MIN_COLUMN_WIDTH = 8;
/**
 * The maximum length of a cell in UTF-16 code units, which is also the maximum length of an id. Longer text is clipped
 * before its width is measured.
 */
const MAX_CELL_LENGTH = 1_024;
const TERMINAL_LINES = 4;

/**
 * Formats rows as a terminal table with a rule below the headers. The table has no other borders and no final line
 * break. Without rows, only the headers are shown. Control characters in the rows are escaped, so that they cannot act
 * on the terminal.
 */
export function renderTable<Row extends object>(
  rows: readonly Row[],
  allColumns: readonly (TableColumn<NoInfer<Row>> | Column<NoInfer<Row>>)[],
  options: TableOptions = {},
): string {
  const columns = allColumns.filter(
    (column): column is TableColumn<Row> =>
      column.header !== undefined &&
      (column.sparse !== true || rows.some((row) => row[column.name] != null)) &&
      (column.wide !== true || (options.width ?? WIDE_TERMINAL_COLUMNS) >= WIDE_TERMINAL_COLUMNS),
  );
  const longest = Math.min(MAX_CELL_LENGTH, (options.width ?? MAX_CELL_LENGTH) * TERMINAL_LINES);
  const head = columns.map((column): StyledCell => ({ text: inertText(column.header), style: 'bold' }));
  const body = rows.map((row) =>
    columns.map((column) => toCell(row, column, column.kind === 'id' ? MAX_CELL_LENGTH : longest)),
  );
  const aligns = columns.map((column) => column.align ?? alignmentOf(rows, column));
  const firm = columns.map((column) => column.firm === true);
  const fits = columns.map(({ kind }) => (kind === 'id' ? shortenCell : wrapText));
  const widths = columnWidths([head, ...body], { aligns, firm, fits, terminal: options.width });
  const draw = (cells: readonly StyledCell[]) =>
    drawRow(cells, { widths, aligns, fits, color: options.color === true });
  const rule = widths.map((width) => '─'.repeat(width)).join('─'.repeat(GAP.length));
  return [draw(head), ...(rows.length === 0 ? [] : [rule, ...body.map(draw)])].join('\n');
}

function toCell<Row extends object>(row: Row, column: TableColumn<Row>, longest: number): StyledCell {
  const value = row[column.name];
  const text = column.words === undefined ? plainWords(value, column.kind) : column.words(value, row);
  return { text: clipText(inertText(clipText(text, longest)), longest), style: column.style?.(value, row) };
}

function plainWords(value: unknown, kind: ColumnKind | undefined): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'bigint' || Number.isInteger(value)) return formatInteger(value as number | bigint);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (kind === 'amount' || kind === 'price') return formatDecimal(String(value));
  return kind === 'date' ? formatMinute(String(value)) : String(value);
}

function alignmentOf<Row extends object>(rows: readonly Row[], { name, kind }: TableColumn<Row>): Alignment {
  if (kind !== undefined) return RIGHT_ALIGNED_KINDS.includes(kind) ? 'right' : 'left';
  const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  const numeric = values.length > 0 && values.every((value) => typeof value === 'number' || typeof value === 'bigint');
  return numeric ? 'right' : 'left';
}

interface WidthOptions {
  aligns: readonly Alignment[];
  firm: readonly boolean[];
  fits: readonly FitText[];
  terminal: number | undefined;
}

/**
 * Computes the column widths. If the table is wider than the terminal, headers that are wider than the cells below are
 * wrapped first. Then the widest text column is narrowed again and again until the table fits.
 */
function columnWidths(lines: readonly StyledCell[][], { aligns, firm, fits, terminal }: WidthOptions): number[] {
  const widths = aligns.map((_, index) =>
    lines.reduce((widest, cells) => Math.max(widest, textWidth(cells[index]?.text ?? '')), 1),
  );
  if (terminal === undefined) return widths;
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - terminal;
  const [head = [], ...body] = lines;
  for (const [index, { text }] of head.entries()) {
    const [header, width] = [text, widths[index] ?? 0];
    if (excess <= 0 || textWidth(header) < width || fits[index] !== wrapText) continue;
    const cells = body.map((row) => textWidth(row[index]?.text ?? ''));
    const least = Math.max(1, ...cells, ...header.split(' ').map(textWidth));
    widths[index] = least;
    excess -= width - least;
  }
  while (excess > 0) {
    const wide = widths.map((width, index) => (aligns[index] === 'right' || width <= MIN_COLUMN_WIDTH ? 0 : width));
    const soft = wide.map((width, index) => (firm[index] === true ? 0 : width));
    const texts = soft.some((width) => width > 0) ? soft : wide;
    const widest = Math.max(...texts);
    const next = Math.max(MIN_COLUMN_WIDTH, ...texts.filter((width) => width < widest));
    if (widest === 0) break;
    const step = Math.min(excess, Math.max(1, widest - next));
    widths[texts.indexOf(widest)] = widest - step;
    excess -= step;
  }
  return widths;
}

type FitText = (text: string, width: number) => string[];

const shortenCell: FitText = (text, width) => [shortenInTheMiddle(text, width)];

interface RowLayout {
  widths: readonly number[];
  aligns: readonly Alignment[];
  fits: readonly FitText[];
  color: boolean;
}

function drawRow(cells: readonly StyledCell[], { widths, aligns, fits, color }: RowLayout): string {
  const columns = cells.map((cell, index) => (fits[index] ?? wrapText)(cell.text, widths[index] ?? 0));
  const height = Math.max(...columns.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    columns
      .map((lines, index) => {
        const text = lines[line] ?? '';
        const gap = ' '.repeat(Math.max(0, (widths[index] ?? 0) - textWidth(text)));
        const styled = color ? paint(text, cells[index]?.style) : text;
        return aligns[index] === 'right' ? gap + styled : styled + gap;
      })
      .join(GAP)
      .trimEnd(),
  ).join('\n');
}

export function paint(text: string, style: CellStyle | undefined): string {
  if (style === undefined || text === '') return text;
  const [on, off] = ANSI_STYLES[style];
  return `\x1b[${on}m${text}\x1b[${off}m`;
}

/** Returns the width of a text in terminal columns. East Asian wide characters and emoji take two. */
export function textWidth(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/** Clips the text after `longest` UTF-16 code units and adds an ellipsis. Does not cut a surrogate pair in two. */
function clipText(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Clips the text to `width` terminal columns. If text was cut, the last column shows an ellipsis. */
export function clipToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const [line = ''] = wrapText(text.replaceAll(' ', '\u00a0'), Math.max(1, width - 1));
  return `${line.replaceAll('\u00a0', ' ').trimEnd()}…`;
}

/**
 * Shortens an id to `width` terminal columns by cutting out its middle. Both ends stay, because many ids begin or end
 * alike.
 */
function shortenInTheMiddle(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const characters = Array.from(new Intl.Segmenter('en').segment(text), ({ segment }) => segment);
  const take = (from: readonly string[], room: number): string[] => {
    let left = room;
    const end = from.findIndex((character) => {
      left -= textWidth(character);
      return left < 0;
    });
    return from.slice(0, end);
  };
  const head = take(characters, Math.ceil((width - 1) / 2));
  const tail = take(characters.reverse(), width - 1 - textWidth(head.join('')));
  return `${head.join('')}…${tail.reverse().join('')}`;
}

/**
 * Wraps text into lines of at most `width` terminal columns, at spaces if possible. Grapheme clusters (characters as a
 * reader sees them) stay whole. Only the spaces at line breaks are dropped.
 */
export function wrapText(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let lineWidth = 0;
  for (const { segment } of new Intl.Segmenter('en').segment(text)) {
    const segmentWidth = textWidth(segment);
    while (lineWidth + segmentWidth > width && line !== '') {
      const space = segment === ' ' ? line.length : line.lastIndexOf(' ');
      const cut = space > 0 ? space : line.length;
      lines.push(line.slice(0, cut));
      line = line.slice(cut).trimStart();
      lineWidth = textWidth(line);
    }
    if (segment === ' ' && line === '' && lines.length > 0) continue;
    line += segment;
    lineWidth += segmentWidth;
  }
  if (line !== '') lines.push(line);
  return lines;
}
