import { Readable } from 'node:stream';
import { escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import type { AnyListOperation, RowKey, Scope } from '../../operations/operation.ts';
import type { SheetColumn, SheetValue } from '../../reports/formats/columns.ts';
import { csvPieces } from '../../reports/formats/csv.ts';
import { NDJSON_TYPE } from './media-types.ts';
import { ApiError } from './problem.ts';

/** Each stream holds a read transaction, which keeps the write-ahead log from shrinking. */
const MAX_STREAMS = 4;
/** Rows that are read at a time, between two turns of the event loop. */
const ROWS_PER_PAGE = 500;

/** Answers that have all rows of a listing. Each reads one state of the ledger, on a connection of its own. */
export class RowStreams {
  #open = 0;
  readonly #redact: Redactor;

  constructor(redact: Redactor) {
    this.#redact = redact;
  }

  /** Starts a stream as lines of JSON or as CSV. Throws `streams_busy` if too many are open. */
  start(operation: AnyListOperation, scope: Scope, input: object, format: 'ndjson' | 'csv'): Readable {
    if (format === 'csv' && operation.columns === null) {
      throw new ApiError(406, 'not_acceptable', `${operation.name} has no CSV`, { hint: `accept ${NDJSON_TYPE}` });
    }
    if (this.#open >= MAX_STREAMS) {
      throw new ApiError(429, 'streams_busy', `${MAX_STREAMS} streams are open`, {
        hint: 'wait until one of them ends, or read pages with limit and cursor',
      });
    }
    const reader = openReader(scope.context.config.ledger.path);
    const own: Scope = {
      context: scope.context,
      connection: reader.connection,
      actor: scope.actor,
      signal: scope.signal,
    };
    this.#open += 1;
    const pieces = format === 'csv' ? this.#csv(operation, own, input) : this.#lines(operation, own, input);
    // Reads the first page now, so that a refusal is a problem and not a broken stream.
    reader.connection.exec('BEGIN');
    const stream = Readable.from(pieces, { objectMode: false });
    stream.once('close', () => {
      this.#open -= 1;
      reader.close();
    });
    return stream;
  }

  async *#lines(operation: AnyListOperation, scope: Scope, input: object): AsyncGenerator<string> {
    for await (const { rows } of pagesOf(operation, scope, input)) {
      const lines = rows.map((row) => `${escapeRisky(stringifyExact(row))}\n`);
      if (lines.length > 0) yield this.#redact(lines.join(''));
    }
  }

  async *#csv(operation: AnyListOperation, scope: Scope, input: object): AsyncGenerator<string> {
    let isFirst = true;
    for await (const { rows, columns } of pagesOf(operation, scope, input)) {
      const values = rows.map((row) => columns.map(({ name }) => plainValue((row as Record<string, unknown>)[name])));
      const text = [...csvPieces({ name: operation.title, columns, rows: values }, {})].join('');
      // Each page is a CSV of its own; only the first keeps its header.
      yield this.#redact(isFirst ? text : text.slice(text.indexOf('\n') + 1));
      isFirst = false;
    }
  }
}

interface StreamPage {
  rows: object[];
  columns: readonly SheetColumn[];
}

/** Reads a listing page by page, and lets the event loop turn between two pages. */
async function* pagesOf(operation: AnyListOperation, scope: Scope, input: object): AsyncGenerator<StreamPage> {
  let after: RowKey | null = null;
  for (;;) {
    scope.signal.throwIfAborted();
    const listing = operation.run(scope, input as never, { after, limit: ROWS_PER_PAGE });
    const rows: object[] = [];
    for (const row of listing.rows) {
      rows.push(row);
      if (rows.length === ROWS_PER_PAGE) break;
    }
    yield { rows, columns: columnsOf(operation, listing) };
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_PAGE) return;
    after = operation.keyOf(last);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function columnsOf(
  { columns }: AnyListOperation,
  listing: { columns?: readonly SheetColumn[] },
): readonly SheetColumn[] {
  return columns === 'listing' ? (listing.columns ?? []) : (columns ?? []);
}

function plainValue(value: unknown): SheetValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  return typeof value === 'string' ? value : stringifyExact(value);
}
