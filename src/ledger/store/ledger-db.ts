import type Database from 'better-sqlite3';

/** An open ledger: the handle that every room queries. Rows come by SQL for sets, `query` for single rows, or prepared. */
export type LedgerDb = Database.Database;
