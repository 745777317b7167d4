import type Database from 'better-sqlite3';

/**
 * A connection to an open ledger. Code reads sets of rows with SQL and single rows with `query`, and prepares frequent
 * queries.
 */
export type LedgerDb = Database.Database;
