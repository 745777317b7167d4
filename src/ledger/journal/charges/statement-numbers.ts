import { AppError } from '../../../core/errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { workspaceKeyOf } from '../../store/schema/keys.ts';
import { billedTenants, type PeriodPlace } from './read-billed.ts';

const SEQUENCE = /\{seq(?::(0+))?\}/;

/** Returns the n-th statement number in a format such as `2026-{seq:0000}`. */
export function numberOf(form: string, n: number): string {
  return form.replace(SEQUENCE, (_, zeros: string | undefined) => String(n).padStart(zeros?.length ?? 1, '0'));
}

/**
 * Returns the name of the series that a number format belongs to. Formats that differ only in the number of zeros
 * belong to the same series and continue each other's numbers.
 */
export function seriesOf(form: string): string {
  return form.replace(SEQUENCE, '{seq}');
}

/**
 * Assigns the next numbers of the series to the statements of a period that is being closed, in the order of tenant
 * ids. Returns the last number. Runs in the transaction of the close, so that a close that fails uses no number.
 */
export function assignStatementNumbers(connection: LedgerDb, place: PeriodPlace, form: string): number {
  // The ids are collected first, because SQLite cannot write on a connection while a statement is being read. Only ids,
  // to limit the memory for a million tenants.
  const ids = Array.from(billedTenants(connection, place), ({ tenantId }) => tenantId);
  const insert = connection.prepare(
    `INSERT OR IGNORE INTO statement_numbers (close_seq, tenant_key, period_key, number)
     SELECT ?, tenant_key, ?, ? FROM tenants WHERE workspace_key = ? AND tenant_id = ?`,
  );
  let last = lastAssigned(connection, form);
  for (const id of ids) {
    last += 1;
    const number = numberOf(form, last);
    const { changes } = insert.run(place.closedSeq, place.periodKey, number, workspaceKeyOf(place.periodKey), id);
    if (changes === 1) continue;
    throw new AppError('close_refused', `the number ${JSON.stringify(number)} is already used by another statement`, {
      hint: 'set statement.number to a format that has not been used before',
    });
  }
  return last;
}

function lastAssigned(connection: LedgerDb, form: string): number {
  const given = connection
    .prepare('SELECT number_form, max(last_number) FROM close_commitments WHERE number_form IS NOT NULL GROUP BY 1')
    .raw()
    .all() as [form: string, last: number][];
  return Math.max(0, ...given.filter(([other]) => seriesOf(other) === seriesOf(form)).map(([, last]) => last));
}
