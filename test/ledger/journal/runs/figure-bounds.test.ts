import { expect, test } from 'vitest';
import { FINANCE_VIEWS } from '../../../../src/config/schema/finance-views.ts';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { createLinkDigests } from '../../../../src/ledger/journal/runs/digest.ts';
import { largestChangesOfRun } from '../../../../src/ledger/journal/runs/run-facts.ts';
import { refuseTooLarge } from '../../../../src/ledger/journal/runs/sum-limits.ts';
import type { StagedRecord } from '../../../../src/ledger/journal/staging/staged-record.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import {
  applyWalk,
  beginRun,
  closeMonth,
  dropTriggers,
  openLedger,
  publish,
  reopenMonth,
  stageWalk,
  usageRecord,
} from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const LARGEST = 2n ** 63n - 1n;
const NONE = -(2n ** 63n);
const MARCH = '2026-03';
const FEBRUARY = '2026-02';
const JANUARY = '2026-01';

/** Publishes, and gives the code of the error that it ends with; null without one. The ledger stays sound either way. */
async function codeOf(connection: LedgerDb, records: readonly StagedRecord[]): Promise<string | null> {
  const entries = () => connection.prepare('SELECT count(*) FROM usage_entries').pluck().get();
  const before = entries();
  let code: string | null = null;
  try {
    await publish(connection, records, { nowMs: NOON });
  } catch (error) {
    code = (error as { code: string }).code;
    expect(entries()).toBe(before);
  }
  expect(verifyLedger(connection).faults).toEqual([]);
  for (const view of FINANCE_VIEWS) connection.prepare(`SELECT * FROM finance_${view}`).all();
  for (const run of connection.prepare('SELECT run_id FROM runs').pluck().all()) {
    largestChangesOfRun(connection, String(run));
  }
  return code;
}

test.each(['credits', 'requests'] as const)(
  '-2^63 is no figure of %s, and the figure above it is one',
  async (field) => {
    const { connection } = openLedger();
    const none = { ...usageRecord('a', 1), [field]: NONE };
    expect(await codeOf(connection, [none])).toBe('invalid_response');
    // Also should a page say it all the same.
    const other = openLedger().connection;
    const underWay = beginRun(other);
    expect(() => {
      stageWalk(underWay, [none]);
      applyWalk(underWay);
    }).toThrow(expect.objectContaining({ code: 'figure_too_large' }));
    expect(await codeOf(connection, [{ ...usageRecord('a', 1), [field]: -LARGEST }])).toBeNull();
    expect(await codeOf(connection, [{ ...usageRecord('a', 1), [field]: 0 }])).toBeNull();
    expect(await codeOf(connection, [{ ...usageRecord('a', 1), [field]: LARGEST }])).toBeNull();
    // Down by exactly 2^63, and by more.
    expect(await codeOf(connection, [{ ...usageRecord('a', 1), [field]: -1 }])).toBe('change_too_large');
    expect(await codeOf(connection, [{ ...usageRecord('a', 1), [field]: -2 }])).toBe('change_too_large');
  },
);

test.each(
  (['credits', 'requests'] as const).flatMap((field) => [
    { field, most: LARGEST, more: 1 },
    { field, most: -LARGEST, more: -1 },
  ]),
)('$field of a period that sum to more than $most, also by a record that the walk misses, are refused', async (row) => {
  const { field, most, more } = row;
  const { connection } = openLedger();
  const record = (tenant: string, figure: number | bigint) => ({ ...usageRecord(tenant, 1), [field]: figure });
  expect(await codeOf(connection, [record('a', most), record('b', more)])).toBe('sum_too_large');
  expect(await codeOf(connection, [record('a', most), record('b', 0)])).toBeNull();
  expect(await codeOf(connection, [record('b', more)])).toBe('sum_too_large');
});

test('corrections of a tenant that a reopen could not reverse are refused, wherever they are booked', async () => {
  const { connection } = openLedger();
  const others = [usageRecord('b', 1, FEBRUARY), usageRecord('b', 1, MARCH)];
  expect(await codeOf(connection, [usageRecord('a', LARGEST, JANUARY), ...others])).toBeNull();
  closeMonth(connection, JANUARY);
  expect(await codeOf(connection, [usageRecord('a', 0, JANUARY), ...others])).toBeNull();
  closeMonth(connection, FEBRUARY);
  expect(await codeOf(connection, [usageRecord('a', -1, JANUARY), ...others])).toBe('sum_too_large');
  reopenMonth(connection, JANUARY);
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('verify names an entry of -2^63 even when the whole chain agrees with it', async () => {
  const { connection } = openLedger();
  await publish(connection, [usageRecord('a', -LARGEST)], { nowMs: NOON });
  dropTriggers(connection);
  connection.exec(`UPDATE usage_entries SET credits_delta = ${NONE}, credits_after = ${NONE}`);
  connection.exec(`UPDATE tenant_usage SET credits_used = ${NONE}`);
  const run = connection
    .prepare(
      `SELECT r.run_key AS runKey, previous_digest AS previousDigest, applied_seq AS appliedSeq, run_id AS runId,
         workspace_id AS workspaceId, finished_at AS finishedAt, first_entry_id AS firstEntryId, entries, kind, slot,
         from_period AS fromPeriod, to_period AS toPeriod, fencing_token AS fencingToken,
         last_change_seq AS lastChangeSeq, 0 AS changesAfter
       FROM runs r JOIN workspaces USING (workspace_key)`,
    )
    .get() as Parameters<ReturnType<typeof createLinkDigests>['ofRun']>[0];
  connection.prepare('UPDATE runs SET digest = ?').run(createLinkDigests(connection).ofRun(run));

  const { faults } = verifyLedger(connection);
  expect(faults.filter(({ check }) => check === 'chain')).toEqual([]);
  expect(faults).toContainEqual({
    check: 'entries',
    runId: run.runId,
    entryId: 1,
    message: 'entry 1 has a figure of -2^63, which is not valid',
  });
});

test('another failure of a sum is not reported as too large', () => {
  const { connection } = openLedger();
  const failing = connection.prepare("SELECT json('no JSON')");
  expect(() => refuseTooLarge('The credits', failing)).toThrow('malformed JSON');
});
