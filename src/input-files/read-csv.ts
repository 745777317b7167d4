import { CsvError, parse } from 'csv-parse/sync';
import { UsageError } from '../core/errors.ts';
import { countMatches, MAX_TITLE_ROWS, type Places, type Table, TableBuilder, type TableRequest } from './table.ts';

const DELIMITERS = [',', ';', '\t'] as const;
/** The header must end within this many characters from the beginning of its line. */
const MAX_HEADER_CHARACTERS = 65_536;
/** Matches a first line such as `sep=;`. Excel reads the delimiter from such a line. */
const DELIMITER_LINE = /^sep=(.)(?:\r\n|\n|\r|$)/i;
/** The accepted line ends. One file can contain several of them, for example after people pasted rows. */
const LINE_ENDS = ['\r\n', '\n', '\r'];

/**
 * Reads a table from CSV text. The delimiter is the one with which some line contains the requested columns. The first
 * line does not decide, because it may be a title that contains other delimiters. Throws UsageError with the line of
 * the file.
 */
export function readCsv(file: string, text: string, request: TableRequest): Table {
  const places: Places = {
    file,
    row: (line) => `line ${line}`,
    cell: (line, _, column) => `line ${line}, column ${column}`,
    refusesSurplus: true,
    missingColumnHint: null,
  };
  const builder = new TableBuilder(places, request);
  const { start, line, delimiter, titles } = findHeader(text, request.required);
  for (const title of titles) builder.add(title);
  for (const row of parseRows(places, text.slice(start), { delimiter, linesBefore: line - 1 })) builder.add(row);
  return builder.finish();
}

interface FoundHeader {
  /** The index of the header's first character in the text. `line` is the number of the header's line, from 1. */
  start: number;
  line: number;
  delimiter: string;
  /** If no header was found: the lines that were examined, for the error about the missing header. Otherwise empty. */
  titles: { line: number; cells: string[] }[];
}

function findHeader(text: string, required: readonly string[]): FoundHeader {
  const [mark = '', named] = DELIMITER_LINE.exec(text) ?? [];
  const delimiters = named === undefined ? DELIMITERS : [named];
  const titles: FoundHeader['titles'] = [];
  let [start, line] = [mark.length, mark === '' ? 1 : 2];
  while (start < text.length && titles.length < MAX_TITLE_ROWS) {
    const end = endOfLine(text, start);
    if (text.slice(start, end).trim() !== '') {
      const judged = delimiters.map((delimiter) => {
        const cells = firstRecord(text.slice(start, start + MAX_HEADER_CHARACTERS), delimiter) ?? [];
        return { delimiter, cells, matches: countMatches(cells, required) };
      });
      const best = judged.reduce((one, other) => (isBetter(other, one) ? other : one));
      if (best.matches === required.length) return { start, line, delimiter: best.delimiter, titles: [] };
      titles.push({ line, cells: best.cells });
    }
    start = end + (text.startsWith('\r\n', end) ? 2 : 1);
    line += 1;
  }
  return { start: text.length, line, delimiter: ',', titles };
}

interface RatedReading {
  cells: readonly string[];
  matches: number;
}

function isBetter(one: RatedReading, other: RatedReading): boolean {
  return one.matches === other.matches ? one.cells.length > other.cells.length : one.matches > other.matches;
}

function endOfLine(text: string, from: number): number {
  const found = /[\r\n]/g;
  found.lastIndex = from;
  return found.exec(text)?.index ?? text.length;
}

/**
 * Returns the cells of the first record in the text. Returns null if its quotes are unclosed or misplaced: then the
 * line is not a header.
 */
function firstRecord(text: string, delimiter: string): string[] | null {
  try {
    const [first = null] = parse(text, { delimiter, to: 1, relax_column_count: true, record_delimiter: LINE_ENDS });
    return first as string[] | null;
  } catch {
    return null;
  }
}

function parseRows(
  { file }: Places,
  text: string,
  { delimiter, linesBefore }: { delimiter: string; linesBefore: number },
): { line: number; cells: string[] }[] {
  try {
    const parsed = parse(text, {
      delimiter,
      record_delimiter: LINE_ENDS,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: false,
      info: true,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    return parsed.map(({ record, info }) => ({ line: info.lines + linesBefore, cells: record }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const at = `${file}, line ${Number(error.lines ?? 1) + linesBefore}`;
    if (error.code === 'CSV_QUOTE_NOT_CLOSED') {
      throw new UsageError(`${at}: a value begins with a double quote and never ends`, 'close it, or remove the quote');
    }
    const hint = 'write a double quote inside a value twice, and put the value in double quotes';
    throw new UsageError(`${at}: a double quote is inside a value`, hint);
  }
}
