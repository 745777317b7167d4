import Database from 'better-sqlite3';
import { LedgerError } from '../../store/errors.ts';

/**
 * Carries out a query that sums figures. SQLite fails when a sum does not fit into 64 bits, and so would every view that
 * shows it: that becomes the error `sum_too_large`, which undoes the transaction under way.
 */
export function refuseTooLarge(what: string, query: () => unknown): void {
  try {
    query();
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError && cause.message === 'integer overflow')) throw cause;
    throw new LedgerError('sum_too_large', `${what} sum to more than 2^63-1`, {
      hint: 'nothing was published; ask the service about its figures, no ledger can state such a total exactly',
      cause,
    });
  }
}
