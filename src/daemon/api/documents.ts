import { openReader } from '../../ledger/store/file/open.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import {
  type AnyListOperation,
  type ChangeOperation,
  type DocumentOperation,
  type Operation,
  runRead,
  type Scope,
} from '../../operations/operation.ts';
import { type CursorPlace, decodeCursor, encodeCursor } from './cursor.ts';
import type { PageInput } from './read-input.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';
import { Turns, takeRowsInTurns } from './turns.ts';

/** The document of an operation, and the state of the ledger that it shows. */
export interface Answer {
  document: object;
  /** Further members of the answer as JSON, which follow those of `document`; see `ChangeResult`. */
  rendered?: Uint8Array | undefined;
  snapshot: Snapshot;
}

export async function readDocument(
  operation: DocumentOperation<Operation['input'], object>,
  scope: Scope,
  input: Record<string, unknown>,
): Promise<Answer> {
  const document = await runRead(scope, operation, input);
  return { document, snapshot: readSnapshot(scope.connection, inputWorkspace(input)) };
}

/** Makes a change. The document of the answer shows whether the change is applied, and has notes for the caller. */
export async function applyChange(
  operation: ChangeOperation<Operation['input'], object>,
  scope: Scope,
  input: Record<string, unknown>,
): Promise<Answer> {
  const { document, rendered, applied, notes } = await operation.run(scope, input);
  const snapshot = readSnapshot(scope.connection, inputWorkspace(input));
  return { document: { ...document, applied, notes }, rendered, snapshot };
}

/**
 * Reads one page of a listing. A slow listing is read in a thread, if the caller has one. Slow rows are read in short
 * turns of the event loop.
 */
export async function runPage(
  operation: AnyListOperation,
  scope: Scope,
  input: Record<string, unknown>,
  page: PageInput,
): Promise<Answer> {
  const isSlow = operation.isSlow?.(input) === true;
  if (isSlow && scope.runInThread !== undefined) return scope.runInThread<Answer>(operation.name, input, page);
  return operation.hasSlowRows === true
    ? readPageInTurns(operation, scope, input, page)
    : readPage(operation, scope, input, page);
}

/**
 * Reads one page of a listing. The member `next_cursor` of the answer continues the listing; it is null on the last
 * page.
 */
export function readPage(
  operation: AnyListOperation,
  scope: Scope,
  input: Record<string, unknown>,
  page: PageInput,
): Answer {
  return scope.connection.transaction(() => {
    const { listing, answer } = startPage(operation, scope, input, page);
    return answer(takeRows(listing.rows, page.limit + 1));
  })();
}

/**
 * Reads one page in several turns of the event loop. Uses a separate connection, because a transaction on the shared
 * connection must end within one turn.
 */
async function readPageInTurns(
  operation: AnyListOperation,
  scope: Scope,
  input: Record<string, unknown>,
  page: PageInput,
): Promise<Answer> {
  const { context, actor, signal } = scope;
  const { connection, close } = openReader(context.config.ledger.path);
  try {
    connection.exec('BEGIN');
    const { listing, answer } = startPage(operation, { context, actor, signal, connection }, input, page);
    return answer(await takeRowsInTurns(listing.rows, page.limit + 1, new Turns()));
  } finally {
    close();
  }
}

/**
 * Starts to read a page. The listing has one row more than the page, which shows whether another page follows. `answer`
 * makes the answer from these rows.
 */
function startPage(operation: AnyListOperation, scope: Scope, input: Record<string, unknown>, page: PageInput) {
  const place = cursorPlace(operation, scope, input);
  const after = page.cursor === null ? null : decodeCursor(place, page.cursor);
  const listing = operation.run(scope, input, { after, limit: page.limit + 1 });
  const answer = (found: readonly object[]): Answer => {
    const shown = found.slice(0, page.limit);
    const last = shown.at(-1);
    const next = found.length > shown.length && last !== undefined ? encodeCursor(place, operation.keyOf(last)) : null;
    return {
      document: { ...listing.head, [operation.member]: shown, ...listing.tail, next_cursor: next },
      snapshot: readSnapshot(scope.connection, inputWorkspace(input)),
    };
  };
  return { listing, answer };
}

/** Describes the listing to which the cursors of an operation with this input belong. */
export function cursorPlace({ name }: Operation, { connection }: Scope, input: object): CursorPlace {
  return { ledgerId: ledgerId(connection), operation: name, input };
}

function inputWorkspace({ workspace }: Record<string, unknown>): string | undefined {
  return typeof workspace === 'string' ? workspace : undefined;
}

function takeRows<Row>(rows: Iterable<Row>, limit: number): Row[] {
  const found: Row[] = [];
  for (const row of rows) {
    found.push(row);
    if (found.length === limit) break;
  }
  return found;
}
