import { Readable } from 'node:stream';
import { escapeRisky, stringifyExact } from '../../core/text/exact-json.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { ALL_ROWS, type AnyListOperation, type RowKey, type Scope } from '../../operations/operation.ts';
import type { SheetColumn, SheetValue } from '../../reports/formats/columns.ts';
import { csvPieces } from '../../reports/formats/csv.ts';
import type { FileFormat } from './answer-format.ts';
import { ApiError } from './problem.ts';
import { makeSheetFile } from './sheet-files.ts';
import { Turns, takeRowsInTurns } from './turns.ts';

/**
 * The most streams that are open at the same time. Each has a read transaction, which prevents the write-ahead log from
 * shrinking.
 */
const MAX_STREAMS = 4;
/** The number of rows that are read at a time. Afterwards, the event loop can do other work. */
const ROWS_PER_PAGE = 500;

/** Streams of all rows of a listing. Each stream reads one state of the ledger, on its own connection. */
export class RowStreams {
  #count = 0;
  readonly #redact: Redactor;

  constructor(redact: Redactor) {
    this.#redact = redact;
  }

  /**
   * Returns all rows of a listing, or its printable page, as a stream. Throws `streams_busy` if too many streams are
   * open. A workbook or a Parquet file is complete before its stream begins.
   */
  async start(operation: AnyListOperation, scope: Scope, input: object, format: FileFormat): Promise<Readable> {
    const { own, end } = this.#open(scope);
    try {
      const stream = await this.#streamOf(operation, own, input, format);
      stream.once('close', end);
      return stream;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Opens a connection with a read transaction for a stream. `end` may be called twice. */
  #open(scope: Scope): { own: Scope; end: () => void } {
    if (this.#count >= MAX_STREAMS) {
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
    reader.connection.exec('BEGIN');
    this.#count += 1;
    let hasEnded = false;
    const end = (): void => {
      if (hasEnded) return;
      hasEnded = true;
      this.#count -= 1;
      reader.close();
    };
    return { own, end };
  }

  async #streamOf(operation: AnyListOperation, own: Scope, input: object, format: FileFormat): Promise<Readable> {
    if (format === 'csv') return Readable.from(this.#csv(operation, own, input), { objectMode: false });
    if (format === 'ndjson') return Readable.from(this.#lines(operation, own, input), { objectMode: false });
    if (format === 'html') return Readable.from(this.#page(operation, own, input), { objectMode: false });
    let columns: readonly SheetColumn[] = [];
    const pieces = this.#values(operation, own, input, (found) => {
      columns = found;
    });
    const { signal } = own;
    return makeSheetFile({ format, name: operation.title, pieces, columns: () => columns, signal });
  }

  /** Yields texts in which each line has the values of one row as JSON. */
  async *#values(
    operation: AnyListOperation,
    scope: Scope,
    input: object,
    onColumns: (columns: readonly SheetColumn[]) => void,
  ): AsyncGenerator<string> {
    for await (const { rows, columns } of pagesOf(operation, scope, input)) {
      onColumns(columns);
      const lines = rows.map((row) => `${stringifyExact(rowValuesOf(row, columns))}\n`);
      if (lines.length > 0) yield this.#redact(lines.join(''));
    }
  }

  /** Yields the pieces of a printable page. The event loop can do other work between two pieces. */
  async *#page(operation: AnyListOperation, scope: Scope, input: object): AsyncGenerator<string> {
    const listing = operation.run(scope, input as never, ALL_ROWS);
    for (const piece of operation.page?.(listing) ?? []) {
      scope.signal.throwIfAborted();
      yield this.#redact(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
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
      const values = rows.map((row) => rowValuesOf(row, columns));
      const text = [...csvPieces({ name: operation.title, columns, rows: values }, {})].join('');
      // The text of each page begins with the header. Only the first page keeps it.
      yield this.#redact(isFirst ? text : text.slice(text.indexOf('\n') + 1));
      isFirst = false;
    }
  }
}

interface StreamPage {
  rows: object[];
  columns: readonly SheetColumn[];
}

/** Reads a listing page by page, in short turns, so that the event loop can do other work in between. */
async function* pagesOf(operation: AnyListOperation, scope: Scope, input: object): AsyncGenerator<StreamPage> {
  const turns = new Turns();
  let after: RowKey | null = null;
  for (;;) {
    scope.signal.throwIfAborted();
    const listing = operation.run(scope, input as never, { after, limit: ROWS_PER_PAGE });
    const rows = await takeRowsInTurns(listing.rows, ROWS_PER_PAGE, turns);
    yield { rows, columns: rowColumnsOf(operation, listing) };
    const last = rows.at(-1);
    if (last === undefined || rows.length < ROWS_PER_PAGE) return;
    after = operation.keyOf(last);
    await turns.next();
  }
}

function rowColumnsOf(
  { columns }: AnyListOperation,
  listing: { columns?: readonly SheetColumn[] },
): readonly SheetColumn[] {
  return columns === 'listing' ? (listing.columns ?? []) : (columns ?? []);
}

function rowValuesOf(row: object, columns: readonly SheetColumn[]): SheetValue[] {
  return columns.map(({ name }) => textValue((row as Record<string, unknown>)[name]));
}

function textValue(value: unknown): SheetValue {
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return value;
  return typeof value === 'string' ? value : stringifyExact(value);
}
