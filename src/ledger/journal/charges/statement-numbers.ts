import { AppError } from '../../../core/errors.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { workspaceKeyOf } from '../../store/schema/keys.ts';
import { billedTenants, type PeriodPlace } from './read-billed.ts';

const SEQUENCE = /\{seq(?::(0+))?\}/;

/** The n-th number of a form such as `2026-{seq:0000}`. */
export function numberOf(form: string, n: number): string {
  return form.replace(SEQUENCE, (_, zeros: string | undefined) => String(n).padStart(zeros?.length ?? 1, '0'));
}

/** What numbers have in common that go on from each other: forms that differ in their zeros alone do. */
export function seriesOf(form: string): string {
  return form.replace(SEQUENCE, '{seq}');
}

/**
 * Numbers the statements of a period that is being closed, by the order of the tenants' ids, from where the series was left. Gives the
 * last number. Whatever undoes the close undoes this, so none is given twice or left out.
 */
export function giveNumbers(connection: LedgerDb, place: PeriodPlace, form: string): number {
  // Nothing is written on a connection that still reads; of a million tenants only the ids are kept.
  const ids = Array.from(billedTenants(connection, place), ({ tenantId }) => tenantId);
  const insert = connection.prepare(
    `INSERT OR IGNORE INTO statement_numbers (close_seq, tenant_key, period_key, number)
     SELECT ?, tenant_key, ?, ? FROM tenants WHERE workspace_key = ? AND tenant_id = ?`,
  );
  let last = lastOf(connection, form);
  for (const id of ids) {
    last += 1;
    const number = numberOf(form, last);
    const { changes } = insert.run(place.closedSeq, place.periodKey, number, workspaceKeyOf(place.periodKey), id);
    if (changes === 1) continue;
    throw new AppError('close_refused', `the number ${JSON.stringify(number)} was given to another statement`, {
      hint: 'give statement.number a form that no numbers were given by',
    });
  }
  return last;
}

function lastOf(connection: LedgerDb, form: string): number {
  const given = connection
    .prepare('SELECT number_form, max(last_number) FROM close_commitments WHERE number_form IS NOT NULL GROUP BY 1')
    .raw()
    .all() as [form: string, last: number][];
  return Math.max(0, ...given.filter(([other]) => seriesOf(other) === seriesOf(form)).map(([, last]) => last));
}
