import Database from 'better-sqlite3';
import { LARGEST_FIGURE } from '../../../core/figure.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';

/** The one integer of SQLite that is no figure. In a statement that writes a figure, what becomes this must fail. */
export const NO_FIGURE = `${-LARGEST_FIGURE - 1n}`;

/**
 * SQL of a figure that a statement computes: what is no figure becomes text, which no column of integers takes, as it takes
 * no difference beyond 64 bits.
 */
export function figureSql(computed: string): string {
  return `coalesce(nullif(${computed}, ${NO_FIGURE}), 'no figure')`;
}

/**
 * Carries out a query of one row of sums. SQLite fails when a sum does not fit into 64 bits, and so would every view that
 * shows it: that becomes the error `sum_too_large`, which undoes the transaction under way.
 */
export function refuseTooLarge(what: string, query: Database.Statement, ...values: readonly number[]): void {
  try {
    const sums = query.safeIntegers().raw().get(values) as (bigint | null)[];
    if (sums.every((sum) => sum === null || sum >= -LARGEST_FIGURE)) return;
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError && cause.message === 'integer overflow')) throw cause;
    throw tooLarge(what, cause);
  }
  throw tooLarge(what);
}

function tooLarge(what: string, cause?: unknown): LedgerError {
  return new LedgerError('sum_too_large', `${what} sum to more than 2^63-1`, {
    hint: 'nothing was applied; ask the service about its figures, no ledger can state such a total exactly',
    cause,
  });
}
