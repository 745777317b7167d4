import Database from 'better-sqlite3';
import { LARGEST_FIGURE } from '../../../core/figure.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';

/** -2^63, the one SQLite integer that is not a valid figure. A statement that computes it as a figure must fail. */
export const NO_FIGURE = `${-LARGEST_FIGURE - 1n}`;

/**
 * Returns SQL for a computed figure that turns an invalid figure into text, which integer columns reject, as SQLite
 * rejects differences beyond 64 bits.
 */
export function figureSql(computed: string): string {
  return `coalesce(nullif(${computed}, ${NO_FIGURE}), 'no figure')`;
}

/**
 * Runs a query that returns one row of sums. SQLite fails when a sum exceeds 64 bits, and every view that shows it
 * would fail too: this throws `sum_too_large`, which rolls back the transaction.
 */
export function refuseTooLarge(what: string, query: Database.Statement, ...values: readonly number[]): void {
  try {
    const sums = query.safeIntegers().raw().get(values) as (bigint | null)[];
    if (sums.every((sum) => sum === null || sum >= -LARGEST_FIGURE)) return;
  } catch (cause) {
    if (!(cause instanceof Database.SqliteError && cause.message === 'integer overflow')) throw cause;
    throw sumTooLarge(what, cause);
  }
  throw sumTooLarge(what);
}

function sumTooLarge(what: string, cause?: unknown): LedgerError {
  return new LedgerError('sum_too_large', `${what} sum to more than 2^63-1`, {
    hint: 'nothing was applied; ask the service operator about these figures: the ledger cannot represent such a total exactly',
    cause,
  });
}
