import type { KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { UsageError } from '../../core/errors.ts';
import { readFaultText } from '../../core/text/words.ts';
import { checkpointLines, parseKey } from '../../ledger/audit/anchor/checkpoint-log.ts';

/** A file that was named. All of these throw UsageError. */
export function readGiven(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(
      `${file} cannot be read (${readFaultText((error as NodeJS.ErrnoException).code)})`,
      'check the path',
    );
  }
}

export function givenCheckpoints(file: string): string[] {
  const lines = checkpointLines(readGiven(file).toString());
  if (lines !== null) return lines;
  throw new UsageError(`${file} holds no checkpoints`, 'give a copy of checkpoints.log, or one checkpoint out of it');
}

export function givenKey(text: string): KeyObject {
  const key = parseKey(text);
  if (key !== null) return key;
  throw new UsageError('--checkpoint-key is no key', 'give the checkpoint key that `usage-ledger verify` has said');
}

export function givenDigest(text: string, option: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new UsageError(`${option} is no digest`, 'give the 64 hexadecimal digits of the link, as they were said');
}

type CsvRecord = Readonly<Record<string, string>>;

export interface CsvRow {
  /** Of the file, from 1: the last one of the record. */
  line: number;
  record: CsvRecord;
}

/**
 * Reads a CSV file with a line of headers, as spreadsheets write them: UTF-8 or UTF-16 with or without a mark, else
 * Windows-1252, with commas, semicolons or tabs, whichever the first line has most of. A line `sep=;` before that of
 * the headers, by which Excel knows the delimiter, is understood, and the line with which files of DATEV begin. Throws UsageError when it cannot be read, is no CSV, has
 * two columns of one name, or lacks one of these columns.
 */
export function readCsvFile(file: string, columns: readonly string[], bytes = readGiven(file)): CsvRow[] {
  const text = readText(file, bytes);
  let rows: CsvRow[];
  try {
    const head = /^[^\r\n]*/.exec(text)?.[0] ?? '';
    const [, said, datev] = /^(?:sep=(.)|"?(EXTF|DTVF)"?;.*)$/i.exec(head) ?? [];
    const [most = ','] = [',', ';', '\t'].sort((a, b) => head.split(b).length - head.split(a).length);
    const options = {
      columns: distinct,
      delimiter: said ?? most,
      from_line: said === undefined && datev === undefined ? 1 : 2,
      skip_empty_lines: true,
      trim: false,
      info: true,
    } as const;
    const parsed = parse(text, options) as unknown as { record: CsvRecord; info: { lines: number } }[];
    rows = parsed.map(({ record, info }) => ({ line: info.lines, record }));
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(`${file}: ${message}`, 'give a CSV file whose first line names its columns');
  }
  const [first] = rows;
  const missing = columns.filter((column) => first !== undefined && first.record[column] === undefined);
  if (missing.length === 0) return rows;
  const found = Object.keys(first?.record ?? {}).join(', ');
  throw new UsageError(`${file} has no column ${missing.join(', ')}`, `its first line names ${found}`);
}

/** Of two columns of one name nobody can say which is meant. Templates mark columns that must be filled with an asterisk. */
function distinct(marked: string[]): string[] {
  const names = marked.map((name) => name.replace(/^\*/, ''));
  const twice = names.find((name, at) => name !== '' && names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`two columns are called ${JSON.stringify(twice)}`);
  return names;
}

/** No byte becomes a question mark: it is read as what it can be, or the file is refused. */
function readText(file: string, bytes: Buffer): string {
  const mark = bytes.subarray(0, 2).toString('hex');
  const encodings = mark === 'fffe' ? ['utf-16le'] : mark === 'feff' ? ['utf-16be'] : ['utf-8', 'windows-1252'];
  for (const encoding of encodings) {
    const text = decode(bytes, encoding);
    if (text !== null) return text;
  }
  throw new UsageError(`${file} is text in no encoding that is known here`, 'save it as CSV in UTF-8');
}

/** Null for bytes that are no text in this encoding. Any bytes are some in windows-1252, but no file of text has its controls. */
function decode(bytes: Buffer, encoding: string): string | null {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
    const unexpected = encoding === 'windows-1252' ? /[\u0000-\u0008\u000e-\u001f\u0080-\u009f]/ : /\0/;
    return unexpected.test(text) ? null : text;
  } catch {
    return null;
  }
}
