import { AsyncLocalStorage } from 'node:async_hooks';
import Database from 'better-sqlite3';
import type { LedgerDb } from '../../../src/ledger/store/ledger-db.ts';

/** What a disk can do to a statement. */
export const DISK_FAULTS = ['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_FSYNC', 'SQLITE_BUSY'] as const;
export type DiskFault = (typeof DISK_FAULTS)[number];

const MESSAGES: Record<DiskFault, string> = {
  SQLITE_FULL: 'database or disk is full',
  SQLITE_IOERR_WRITE: 'disk I/O error',
  SQLITE_IOERR_FSYNC: 'disk I/O error',
  SQLITE_BUSY: 'database is locked',
};

/** Whoever runs a statement is asked before it; it may throw. */
export interface StatementOwner {
  beforeStatement(sql: string, connection: LedgerDb): void;
  /** Told of each request that is sent. */
  beforeRequest(): void;
  /** Goes through rows of a statement, until it dies. */
  loop(rows: IterableIterator<unknown>): IterableIterator<unknown>;
}

/** Who runs what is running now; nobody for the oracles. */
export const owners = new AsyncLocalStorage<StatementOwner>();

export class ProcessDied extends Error {
  override readonly name = 'ProcessDied';
}

export function diskError(fault: DiskFault): Error {
  return new Database.SqliteError(MESSAGES[fault], fault);
}

let patched = false;
let run = 0;

/** How many statements of the program there have been: without one more nothing has changed. */
export function statementsRun(): number {
  return run;
}

/** From now on every statement of this program asks its owner first. Once for the whole of Node: there is one library. */
export function watchStatements(): void {
  if (patched) return;
  patched = true;
  const probe = new Database(':memory:');
  const statement = Object.getPrototypeOf(probe.prepare('SELECT 1')) as Record<string, unknown>;
  const connection = Object.getPrototypeOf(probe) as Record<string, unknown>;
  probe.close();
  for (const name of ['run', 'get', 'all', 'iterate']) {
    ask(statement, name, (self) => [(self as Database.Statement).source, (self as Database.Statement).database]);
  }
  ask(connection, 'exec', (self, args) => [String(args[0]), self as LedgerDb]);
  const iterate = statement.iterate as (...args: unknown[]) => IterableIterator<unknown>;
  statement.iterate = function owned(this: unknown, ...args: unknown[]): unknown {
    const rows = iterate.apply(this, args);
    return owners.getStore()?.loop(rows) ?? rows;
  };
}

type Subject = (self: unknown, args: unknown[]) => [string, LedgerDb];

function ask(target: Record<string, unknown>, name: string, subject: Subject): void {
  const original = target[name] as (...args: unknown[]) => unknown;
  target[name] = function asked(this: unknown, ...args: unknown[]): unknown {
    const owner = owners.getStore();
    if (owner !== undefined) {
      run += 1;
      owner.beforeStatement(...subject(this, args));
    }
    return original.apply(this, args);
  };
}
