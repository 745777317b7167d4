import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import {
  closeMonth,
  dropTriggers,
  type OpenLedger,
  openLedger,
  publish,
  reopenMonth,
  usageRecord,
} from '../../../support/open-ledger.ts';
import type { Applied } from '../../../support/sandbox-fixture.ts';

test('a valid ledger passes: the report has its counts and the digest of its last run', async () => {
  const { connection, runIds, digest } = await openWithThreeRuns();
  expect(runIds).toHaveLength(3);
  expect(verifyLedger(connection)).toEqual({ faults: [], runs: 3, entries: 5, keys: 3, headDigest: digest });
});

test('an empty ledger passes, and its head is the genesis digest', async () => {
  const { connection } = openLedger();
  expect(verifyLedger(connection)).toEqual({ faults: [], runs: 0, entries: 0, keys: 0, headDigest: '0'.repeat(64) });
});

test('a ledger without its index by key fails, and the other checks still report', async () => {
  const { connection, digest } = await openWithThreeRuns();
  edit(connection, 'DROP INDEX usage_entries_by_key');
  const { faults, headDigest } = verifyLedger(connection);
  expect(headDigest).toBe(digest);
  expect(faults).toContainEqual(
    expect.objectContaining({ check: 'entries', message: expect.stringContaining('no such index') }),
  );
});

test('the first invalid run of the chain is named first', async () => {
  const { connection, runIds } = await openWithThreeRuns();
  edit(connection, 'UPDATE usage_entries SET credits_after = 1 WHERE entry_id IN (3, 5)');
  expect(verifyLedger(connection).faults[0]?.runId).toBe(runIds[1]);
});

test.each([
  ['a month later than the first that was not closed then', '2026-04'],
  ['in a month that was closed then', '2026-02'],
])('an adjustment booked %s is named', async (_, booked) => {
  const { connection } = openLedger();
  const months = (credits: number) => [
    usageRecord('acme', credits, '2026-01'),
    ...['2026-02', '2026-03', '2026-04'].map((period) => usageRecord('acme', 10, period)),
  ];
  await publish(connection, months(10));
  for (const period of ['2026-01', '2026-02']) closeMonth(connection, period);
  await publish(connection, months(15));
  expect(connection.prepare('SELECT booked_period FROM finance_adjustments').pluck().all()).toEqual(['2026-03']);
  reopenMonth(connection, '2026-02');
  expect(verifyLedger(connection).faults).toEqual([]);
  edit(
    connection,
    `UPDATE adjustments SET booked_period_key = (SELECT period_key FROM periods WHERE period = '${booked}')`,
  );
  expect(verifyLedger(connection).faults).toContainEqual(
    expect.objectContaining({ message: 'adjustment 1 is not booked in the first month that was open then' }),
  );
});

test('a ledger with unreadable runs can still be closed after the report', async () => {
  const { connection } = await openWithThreeRuns();
  closeMonth(connection, '2026-02');
  reopenMonth(connection, '2026-02');
  const prepare = connection.prepare.bind(connection);
  const unreadable = (sql: string) => {
    const statement = prepare(sql);
    if (!sql.includes("'run' AS type")) return statement;
    const rows: Iterator<never> & Iterable<never> = {
      next: () => {
        throw new Error('disk I/O error');
      },
      [Symbol.iterator]: () => rows,
    };
    return Object.assign(statement, { iterate: () => rows });
  };
  Object.assign(connection, { prepare: unreadable });
  expect(() => verifyLedger(connection)).toThrow('disk I/O error');
  expect(() => connection.close()).not.toThrow();
});

/** Three runs over tenants a, b and c: entries 1 and 2, entry 3 (a from 10 to 25), entries 4 (c) and 5 (a to 30). */
async function openWithThreeRuns(): Promise<OpenLedger & { runIds: string[]; digest: string }> {
  const ledger = openLedger();
  const [a, b, c] = [usageRecord('a', 10), usageRecord('b', 20), usageRecord('c', 5, '2026-02')];
  const listings = [
    [a, b],
    [usageRecord('a', 25), b],
    [c, usageRecord('a', 30), b],
  ];
  const runs: Applied[] = [];
  for (const records of listings) runs.push(await publish(ledger.connection, records));
  return { ...ledger, runIds: runs.map(({ runId }) => runId), digest: runs.at(-1)?.digest ?? '' };
}

/** Edits behind the ledger's back: without its triggers and foreign keys. */
function edit(connection: OpenLedger['connection'], sql: string): void {
  dropTriggers(connection);
  connection.pragma('foreign_keys = OFF');
  connection.exec(sql);
}
