import type { z } from 'zod';
import { UsageError } from '../core/errors.ts';
import type { Role } from '../core/text/roles.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import type { Column, SheetColumn } from '../reports/formats/columns.ts';
import type { Context } from '../wiring/context.ts';

/** The person or token that runs an operation, and how the name became known. */
export interface Actor {
  name: string;
  /**
   * `stated`: the name was given with `--by` and was not checked. `terminal`: the name is the system user who runs the
   * command. `token`: the name is that of an API token. `person`: the name is that of somebody who signed in to the
   * console.
   */
  kind: 'stated' | 'terminal' | 'token' | 'person';
}

const ACTOR_SUFFIXES: Readonly<Record<Actor['kind'], string>> = {
  stated: '',
  terminal: ' (terminal)',
  token: ' (API token)',
  person: ' (signed in)',
};

/** Returns the text that the ledger records as the actor of a change. */
export function actorText({ name, kind }: Actor): string {
  return name + ACTOR_SUFFIXES[kind];
}

/**
 * Returns the actor for a name given with `--by`. Throws UsageError if the name ends with a suffix that the program
 * itself adds to the names of other kinds of actors.
 */
export function statedActor(name: string): Actor {
  const suffix = Object.values(ACTOR_SUFFIXES).find((each) => each !== '' && name.trimEnd().endsWith(each.trim()));
  if (suffix === undefined) return { name, kind: 'stated' };
  throw new UsageError(
    `--by ${JSON.stringify(name)} ends with "${suffix.trim()}", which only usage-ledger adds`,
    'give the name without it',
  );
}

/**
 * What an operation can use during one call. The connection and the signal belong to the caller: the operation does not
 * close the connection.
 */
export interface Scope {
  readonly context: Context;
  readonly connection: LedgerDb;
  readonly actor: Actor;
  readonly signal: AbortSignal;
  /**
   * Queues a run of a workspace. Returns `exists` if a run of the workspace is already waiting or in progress. Absent
   * outside a daemon.
   */
  readonly enqueueSync?: EnqueueSync | undefined;
  /**
   * Runs a slow read in another thread. Absent outside a daemon, and in a thread that already runs a slow read; the
   * read then runs in the current thread.
   */
  readonly runInThread?: RunInThread | undefined;
  /**
   * Runs a slow read in another thread, and converts its document to JSON there. Present only for requests to a daemon
   * that are answered in JSON.
   */
  readonly renderInThread?: RenderInThread | undefined;
}

/** Runs a read in another thread. The read is an operation that returns a document, or one page of a listing. */
export type RunInThread = <Output extends object>(
  operation: string,
  input: Record<string, unknown>,
  page?: { cursor: string | null; limit: number },
) => Promise<Output>;

/** Returns the document of a slow read as JSON in UTF-8. */
export type RenderInThread = (operation: string, input: Record<string, unknown>) => Promise<Uint8Array>;

export type EnqueueSync = (workspaceId: string, nowMs: number) => Promise<'added' | 'exists'>;

export interface HttpRoute {
  method: 'GET' | 'POST' | 'DELETE';
  /** The path below `/api/v1`. `{name}` stands for the input field `name`. */
  path: string;
  /** The HTTP status of a successful response. Absent: 200. 202 means that the work is done after the response. */
  status?: 202;
}

interface OperationHead<Input extends z.ZodObject> {
  /** The stable name, such as `usage.list`. */
  name: string;
  /** One sentence without a full stop, for help, OpenAPI and MCP. */
  summary: string;
  /** Sentences for OpenAPI and MCP: when to use this operation and when another one, and what its figures mean. */
  details?: string;
  role: Role;
  input: Input;
  http: HttpRoute;
  /** The input field with an uploaded file; requests are then `multipart/form-data`. Absent if no file is uploaded. */
  upload?: string;
  /** The command that prints the same document with `--json`; null if only the API has it. */
  command: string | null;
}

/** An operation that returns one document. */
export interface DocumentOperation<Input extends z.ZodObject, Output> extends OperationHead<Input> {
  kind: 'document';
  details: string;
  output: z.ZodType<Output>;
  /** True if the read takes seconds for a large ledger; run it with `runRead`. */
  isSlow?: true;
  /** Yields the document as a printable page, in pieces. Absent if there is no such page. */
  page?(document: Output): Iterable<string>;
  run(scope: Scope, input: z.output<Input>): Output | Promise<Output>;
}

/**
 * A read that takes seconds for a large ledger. It is not an operation of its own, but part of an operation or of a
 * page. Run it with `runRead`.
 */
export type SlowRead<Input extends z.ZodObject, Output> = Pick<
  DocumentOperation<Input, Output>,
  'name' | 'role' | 'input' | 'isSlow' | 'run'
>;

/** The result of a change. */
export interface ChangeResult<Output> {
  /** True if the ledger has the change, made by this request or by an earlier one. False after a dry run. */
  applied: boolean;
  /** The document that the command prints with `--json`. */
  document: Output;
  /**
   * Further members of the printed document, which follow the members of `document`: a JSON object in UTF-8. Absent if
   * there are none.
   */
  rendered?: Uint8Array | undefined;
  /** Sentences to show with the document, such as why a checkpoint could not be written. */
  notes: readonly string[];
}

/**
 * An operation that changes something. A repeated request changes nothing: it returns the change that the ledger
 * already has.
 */
export interface ChangeOperation<Input extends z.ZodObject, Output> extends OperationHead<Input> {
  kind: 'change';
  output: z.ZodType<Output>;
  /** True if a dry run takes seconds for a large ledger. */
  isSlow?: true;
  run(scope: Scope, input: z.output<Input>): Promise<ChangeResult<Output>>;
}

/** Values that identify a row of a listing and its position in the order of the listing. */
export type RowKey = readonly (string | number | bigint | null)[];

/** The part of a listing that a caller reads. */
export interface Page {
  /** The key of the last row that the caller has read; null for the first page. */
  after: RowKey | null;
  /** The maximum number of rows that the caller reads; null for all rows. The listing may yield more rows. */
  limit: number | null;
}

export const ALL_ROWS: Page = { after: null, limit: null };

/**
 * A listing with its rows. The rows are read from the ledger while the caller iterates over them, so the caller must
 * keep the read transaction open until the end.
 */
export interface Listing<Row extends object, Head extends object> {
  /** The members of the printed document before the rows. */
  head: Head;
  /** The columns of the rows; only present if they depend on the input. */
  columns?: readonly SheetColumn[];
  rows: Iterable<Row>;
  /** The members of the printed document after the rows. */
  tail?: object;
}

/** An operation that returns any number of rows. */
export interface ListOperation<
  Input extends z.ZodObject,
  Row extends object,
  Head extends object,
  Result extends Listing<Row, Head> = Listing<Row, Head>,
> extends OperationHead<Input> {
  kind: 'list';
  details: string;
  /** The name of the listing, and of its sheet in a workbook. */
  title: string;
  /** The name of the document's member that has the rows. */
  member: string;
  head: z.ZodType<Head>;
  row: z.ZodType<Row>;
  /** The schema of the members after the rows; absent if there are none. */
  tail?: z.ZodObject;
  /**
   * The columns of an exported file. `listing`: the columns depend on the input, and each listing has its own. Null:
   * the rows do not fit into a table.
   */
  columns: readonly Column<Row>[] | 'listing' | null;
  /** Yields the listing as a printable page, in pieces. Absent if there is no such page. */
  page?(listing: NoInfer<Result>): Iterable<string>;
  keyOf(row: Row): RowKey;
  /**
   * Reports whether reading a page with this input takes so long for a large ledger that another thread must read it.
   * Absent: reading never takes that long.
   */
  isSlow?(input: z.output<Input>): boolean;
  /** True if each row takes about a millisecond. A daemon then answers other requests between the rows of a page. */
  hasSlowRows?: true;
  run(scope: Scope, input: z.output<Input>, page: Page): Result;
}

/** A list operation with any input and rows. */
export interface AnyListOperation extends Omit<ListOperation<z.ZodObject, object, object>, 'columns'> {
  columns: readonly SheetColumn[] | 'listing' | null;
}

export type Operation =
  | DocumentOperation<z.ZodObject, object>
  | ChangeOperation<z.ZodObject, object>
  | AnyListOperation;

/** Declares an operation that returns one document. */
export function documentOperation<Input extends z.ZodObject, Output extends object>(
  operation: Omit<DocumentOperation<Input, Output>, 'kind'>,
): DocumentOperation<Input, Output> {
  return { kind: 'document', ...operation };
}

/** Runs a read. A slow read runs in another thread if `scope` has `runInThread`. */
export async function runRead<Input extends z.ZodObject, Output extends object>(
  scope: Scope,
  operation: SlowRead<Input, Output>,
  input: z.output<Input>,
): Promise<Output> {
  const { isSlow = false, name } = operation;
  return isSlow && scope.runInThread !== undefined
    ? scope.runInThread<Output>(name, input)
    : operation.run(scope, input);
}

/**
 * Runs a read whose result becomes part of the document of a change. If `scope` has `renderInThread`, `members` is
 * empty and `rendered` has the result as JSON, because copying a large document from the other thread would take longer
 * than a request may take.
 */
export async function runIncludedRead<Input extends z.ZodObject, Output extends object>(
  scope: Scope,
  operation: DocumentOperation<Input, Output>,
  input: z.output<Input>,
): Promise<{ members: Output; rendered?: Uint8Array }> {
  if (scope.renderInThread === undefined) return { members: await runRead(scope, operation, input) };
  return { members: {} as Output, rendered: await scope.renderInThread(operation.name, input) };
}

const CALLERS_OF_DAEMON: ReadonlySet<Actor['kind']> = new Set(['token', 'person']);

/** Declares an operation that changes something. A change over the API, MCP or the console is logged with its actor. */
export function changeOperation<Input extends z.ZodObject, Output extends object>(
  operation: Omit<ChangeOperation<Input, Output>, 'kind'>,
): ChangeOperation<Input, Output> {
  return {
    kind: 'change',
    ...operation,
    async run(scope, input) {
      const changed = await operation.run(scope, input);
      if (changed.applied && CALLERS_OF_DAEMON.has(scope.actor.kind)) logChange(scope, operation, input);
      return changed;
    },
  };
}

/** Logs a change with its actor and its subject: the input fields in its path, and the workspace. */
function logChange({ context, actor }: Scope, { name, http }: OperationHead<z.ZodObject>, input: object): void {
  const subject = Object.fromEntries(
    Object.entries(input).filter(([field]) => field === 'workspace' || http.path.includes(`{${field}}`)),
  );
  context.logger.info({ operation: name, actor: actorText(actor), ...subject }, 'change made');
}

/** Declares an operation that returns rows. */
export function listOperation<
  Input extends z.ZodObject,
  Row extends object,
  Head extends object,
  Result extends Listing<Row, Head>,
>(operation: Omit<ListOperation<Input, Row, Head, Result>, 'kind'>): ListOperation<Input, Row, Head, Result> {
  return { kind: 'list', ...operation };
}

/** Returns the rows after the row with the key `page.after`. Use it for short listings in a stable order. */
export function rowsAfter<Row>(rows: readonly Row[], keyOf: (row: Row) => RowKey, { after }: Page): readonly Row[] {
  if (after === null) return rows;
  const index = rows.findIndex((row) => isSameKey(keyOf(row), after));
  if (index >= 0) return rows.slice(index + 1);
  return rows.filter((row) => compareKeys(keyOf(row), after) > 0);
}

function isSameKey(a: RowKey, b: RowKey): boolean {
  return a.length === b.length && a.every((value, at) => compareValues(value, b[at] ?? null) === 0);
}

function compareKeys(a: RowKey, b: RowKey): number {
  for (const [at, value] of a.entries()) {
    const order = compareValues(value, b[at] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

/** Compares two values of a key column. Null sorts first, as in SQLite. */
function compareValues(a: RowKey[number], b: RowKey[number]): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  if (typeof a === 'string' || typeof b === 'string') return String(a) < String(b) ? -1 : Number(String(a) > String(b));
  return a < b ? -1 : Number(a > b);
}
