import type Database from 'better-sqlite3';

/**
 * An open ledger, the database handle of every room. Sets are read with SQL, single rows with `query`, frequent queries
 * prepared.
 */
export type LedgerDb = Database.Database;
