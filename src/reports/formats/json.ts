import { escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import type { Sheet } from './columns.ts';

/** Rows that are joined at a time, and characters: rows of a document may be long. */
const JSON_ROWS_A_PIECE = 100;
const JSON_PIECE_LENGTH = 65_536;

/**
 * One JSON document, indented, ending in a line break. Bigints are written as integers with all their digits, never as
 * strings and never rounded: readers that need exact values beyond 2^53 must parse with a lossless parser. Control and
 * format characters are escaped, which leaves the value the same and a terminal unharmed.
 */
export function renderJson(value: object): string {
  return `${escapeRisky(stringifyExact(value, 2))}\n`;
}

/**
 * The same of an object with `head`, a member of `rows` and `tail`, a piece at a time: they are read as they are written. No tail:
 * the rows come last.
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
    // No line ends stand in JSON's strings: each is one between members.
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
    if (lines.length < JSON_ROWS_A_PIECE) continue;
    yield lines.join('');
    lines = [];
  }
  yield lines.join('');
}

/** Rows as one JSON document, `{"name": ..., "rows": [...]}`, a piece at a time. */
export function* jsonPieces(sheet: Sheet): Generator<string> {
  let separator = `{"name":${JSON.stringify(sheet.name)},"rows":[\n`;
  for (const piece of ndjsonPieces(sheet)) {
    if (piece === '') continue;
    yield separator + piece.trimEnd().replaceAll('\n', ',\n');
    separator = ',\n';
  }
  yield `${separator.startsWith('{') ? separator : '\n'}]}\n`;
}
