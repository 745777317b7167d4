import { escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import type { Sheet } from './columns.ts';

/** Limits of one chunk: a number of rows, and a number of characters for documents whose rows are long. */
const JSON_ROWS_PER_CHUNK = 100;
const JSON_PIECE_LENGTH = 65_536;

/**
 * Formats a value as one indented JSON document with a final line break. A bigint is written as a number with all its
 * digits, not as a string. Readers that need exact integers above 2^53 must use a parser that keeps all digits. Control
 * and format characters are escaped, because they could act on a terminal; the value stays the same.
 */
export function renderJson(value: object): string {
  return `${escapeRisky(stringifyExact(value, 2))}\n`;
}

/**
 * Formats a JSON object and yields the text in chunks. The object has the members of `head`, then the list of `rows`
 * under `name`, then the members of `tail`. Each row is read only when its text is formatted.
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
    // JSON strings contain no line breaks, so every line break is between members and can be indented.
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

/** Formats rows as one JSON document, `{"name": ..., "rows": [...]}`, and yields the text in chunks. */
export function* jsonPieces(sheet: Sheet): Generator<string> {
  let separator = `{"name":${JSON.stringify(sheet.name)},"rows":[\n`;
  for (const piece of ndjsonPieces(sheet)) {
    if (piece === '') continue;
    yield separator + piece.trimEnd().replaceAll('\n', ',\n');
    separator = ',\n';
  }
  yield `${separator.startsWith('{') ? separator : '\n'}]}\n`;
}
