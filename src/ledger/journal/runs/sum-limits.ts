import Database from 'better-sqlite3';
import { LARGEST_FIGURE } from '../../../core/figure.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';

/**
 * -2^63 as SQL: the only SQLite integer that is not a valid figure. A statement that computes this figure must fail.
 */
export const INVALID_FIGURE_SQL = `${-LARGEST_FIGURE - 1n}`;

/** Returns SQL that computes a figure, but yields text instead of -2^63, so that an integer column rejects it. */
export function checkedFigureSql(computed: string): string {
  return `coalesce(nullif(${computed}, ${INVALID_FIGURE_SQL}), 'no figure')`;
}

/**
 * Runs a query that returns one row of sums, and throws `sum_too_large` if a sum exceeds 64 bits. The error rolls back
 * the transaction; otherwise every view that shows such a sum would fail.
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
