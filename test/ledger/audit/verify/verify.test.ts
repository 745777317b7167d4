import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { type OpenLedger, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import type { Applied } from '../../../support/sandbox-fixture.ts';

test('a sound ledger verifies: its counts and the digest of its last run are told', async () => {
  const { connection, runIds, digest } = await openWithThreeRuns();
  expect(runIds).toHaveLength(3);
  expect(verifyLedger(connection)).toEqual({ faults: [], runs: 3, entries: 5, keys: 3, headDigest: digest });
});

test('an empty ledger verifies and its head is the beginning of the chain', async () => {
  const { connection } = openLedger();
  expect(verifyLedger(connection)).toEqual({ faults: [], runs: 0, entries: 0, keys: 0, headDigest: '0'.repeat(64) });
});

interface Edit {
  what: string;
  sql: string;
  /** The fault that must be among those found; `run` counts from 0. */
  fault: { check: string; run?: number; entryId?: number; says?: string };
}

test.each<Edit>([
  {
    what: 'the value of an entry',
    sql: 'UPDATE usage_entries SET credits_after = 11 WHERE entry_id = 1',
    fault: { check: 'chain', run: 0 },
  },
  {
    what: 'the value of an entry',
    sql: 'UPDATE usage_entries SET credits_after = 11 WHERE entry_id = 1',
    fault: { check: 'entries', run: 0, entryId: 1 },
  },
  {
    what: 'an entry and its delta alike',
    sql: 'UPDATE usage_entries SET credits_after = 26, credits_delta = 16 WHERE entry_id = 3',
    fault: { check: 'chain', run: 1 },
  },
  {
    what: 'an entry and its delta alike',
    sql: 'UPDATE usage_entries SET credits_after = 26, credits_delta = 16 WHERE entry_id = 3',
    fault: { check: 'invariant', says: '2026-03 of tenant "a" stands at 30 credits' },
  },
  {
    what: 'the kind of an entry',
    sql: 'UPDATE usage_entries SET kind = 3 WHERE entry_id = 3',
    fault: { check: 'chain', run: 1 },
  },
  {
    what: 'which run brought an entry',
    sql: 'UPDATE usage_entries SET run_key = 3 WHERE entry_id = 3',
    fault: { check: 'chain', run: 1 },
  },
  {
    what: 'an entry that is gone',
    sql: 'DELETE FROM usage_entries WHERE entry_id = 3',
    fault: { check: 'chain', run: 1 },
  },
  {
    what: 'an entry that is gone',
    sql: 'DELETE FROM usage_entries WHERE entry_id = 1',
    fault: { check: 'entries', run: 1, entryId: 3 },
  },
  {
    what: 'an entry nobody published',
    sql: 'INSERT INTO usage_entries SELECT 6, run_key, period_key, tenant_key, 2, 1, 0, credits_after + 1, requests_after FROM usage_entries WHERE entry_id = 3',
    fault: { check: 'chain', entryId: 6 },
  },
  {
    what: 'the current credits',
    sql: 'UPDATE tenant_usage SET credits_used = 7 WHERE tenant_key = 2',
    fault: { check: 'invariant', says: '2026-03 of tenant "b" stands at 7 credits' },
  },
  {
    what: 'the current requests',
    sql: 'UPDATE tenant_usage SET request_count = 7 WHERE tenant_key = 2',
    fault: { check: 'invariant', says: '7 requests' },
  },
  {
    what: 'the mark of a withdrawn record',
    sql: 'UPDATE tenant_usage SET withdrawn = 1 WHERE tenant_key = 2',
    fault: { check: 'invariant', says: 'tenant "b"' },
  },
  {
    what: 'a key of the state that is gone',
    sql: 'DELETE FROM tenant_usage WHERE tenant_key = 2',
    fault: { check: 'invariant', says: 'tenant "b"' },
  },
  {
    what: 'the digest of a run',
    sql: "UPDATE runs SET digest = 'x' WHERE run_key = 2",
    fault: { check: 'chain', run: 1 },
  },
  {
    what: 'the digest of a run',
    sql: "UPDATE runs SET digest = 'x' WHERE run_key = 2",
    fault: { check: 'chain', run: 2 },
  },
  {
    what: 'when a run was',
    sql: "UPDATE runs SET finished_at = 'x' WHERE run_key = 2",
    fault: { check: 'chain', run: 1 },
  },
  { what: 'the name of a run', sql: "UPDATE runs SET run_id = 'x' WHERE run_key = 2", fault: { check: 'chain' } },
  { what: 'a run that is gone', sql: 'DELETE FROM runs WHERE run_key = 2', fault: { check: 'chain', run: 2 } },
  {
    what: 'the name of a tenant',
    sql: "UPDATE tenants SET tenant_id = 'z' WHERE tenant_key = 2",
    fault: { check: 'chain', run: 0 },
  },
  { what: 'a certificate that is gone', sql: 'DELETE FROM walks WHERE run_key = 2', fault: { check: 'walks', run: 1 } },
  { what: 'the pages of a run', sql: 'UPDATE runs SET pages = 9 WHERE run_key = 3', fault: { check: 'walks', run: 2 } },
  {
    what: 'the records of a walk',
    sql: 'UPDATE walks SET records = 9 WHERE run_key = 3',
    fault: { check: 'walks', run: 2 },
  },
])('$what: "$sql" is found by $fault.check', async ({ sql, fault }) => {
  const { connection, runIds } = await openWithThreeRuns();
  edit(connection, sql);

  const { faults } = verifyLedger(connection);

  expect(faults).toContainEqual(
    expect.objectContaining({
      check: fault.check,
      ...(fault.run === undefined ? {} : { runId: runIds[fault.run] }),
      ...(fault.entryId === undefined ? {} : { entryId: fault.entryId }),
      ...(fault.says === undefined ? {} : { message: expect.stringContaining(fault.says) }),
    }),
  );
});

test('a ledger without its index by key is not sound, and the rest is told all the same', async () => {
  const { connection, digest } = await openWithThreeRuns();
  edit(connection, 'DROP INDEX usage_entries_by_key');
  const { faults, headDigest } = verifyLedger(connection);
  expect(headDigest).toBe(digest);
  expect(faults).toContainEqual(
    expect.objectContaining({ check: 'entries', message: expect.stringContaining('no such index') }),
  );
});

test('the first bad run of the chain is named first', async () => {
  const { connection, runIds } = await openWithThreeRuns();
  edit(connection, 'UPDATE usage_entries SET credits_after = 1 WHERE entry_id IN (3, 5)');
  expect(verifyLedger(connection).faults[0]?.runId).toBe(runIds[1]);
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
  const triggers = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all();
  for (const name of triggers) connection.exec(`DROP TRIGGER ${String(name)}`);
  connection.pragma('foreign_keys = OFF');
  connection.exec(sql);
}
