import { escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import type { Sheet } from './columns.ts';

/** Limits of one chunk, in rows and in characters, because rows of a document may be long. */
const JSON_ROWS_PER_CHUNK = 100;
const JSON_PIECE_LENGTH = 65_536;

/**
 * Formats a value as one indented JSON document with a final line break. Bigints are written as integers with all
 * digits, never as strings: readers that need exact values above 2^53 need a lossless parser. Control and format
 * characters are escaped, which keeps the value and protects terminals.
 */
export function renderJson(value: object): string {
  return `${escapeRisky(stringifyExact(value, 2))}\n`;
}

/**
 * Formats an object of the members of `head`, a list of `rows`, and the members of `tail`, in chunks. Rows are read
 * while they are written.
 */
export function* documentPieces(
  head: object,
  rows: Iterable<object>,
  { name = 'rows', tail = {} }: { name?: string; tail?: object } = {},
): Generator<string> {
  const begin = stringifyExact(head, 2).replace(/\n?\}$/, '');
  let piece = `${begin}${begin === '{' ? '' : ','}\n  ${JSON.stringify(name)}: [`;
  let count = 0;
  for (const row of rows) {
    // JSON strings contain no line breaks, so each one is between members.
    const indented = stringifyExact(row, 2).replaceAll('\n', '\n    ');
    piece += `${count === 0 ? '' : ','}\n    ${indented}`;
    count += 1;
    if (piece.length < JSON_PIECE_LENGTH) continue;
    yield escapeRisky(piece);
    piece = '';
  }
  const end = stringifyExact(tail, 2).replace(/^\{/, '');
  yield escapeRisky(`${piece}${count === 0 ? '' : '\n  '}]${end === '}' ? '\n}' : `,${end}`}\n`);
}

export function* ndjsonPieces({ columns, rows }: Sheet): Generator<string> {
  let lines: string[] = [];
  for (const row of rows) {
    lines.push(`${escapeRisky(stringifyExact(Object.fromEntries(columns.map(({ name }, at) => [name, row[at]]))))}\n`);
    if (lines.length < JSON_ROWS_PER_CHUNK) continue;
    yield lines.join('');
    lines = [];
  }
  yield lines.join('');
}

/** Formats rows as one JSON document, `{"name": ..., "rows": [...]}`, in chunks. */
export function* jsonPieces(sheet: Sheet): Generator<string> {
  let separator = `{"name":${JSON.stringify(sheet.name)},"rows":[\n`;
  for (const piece of ndjsonPieces(sheet)) {
    if (piece === '') continue;
    yield separator + piece.trimEnd().replaceAll('\n', ',\n');
    separator = ',\n';
  }
  yield `${separator.startsWith('{') ? separator : '\n'}]}\n`;
}
