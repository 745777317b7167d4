import { describe, expect, test } from 'vitest';
import { verifyLedger } from '../../../../../src/ledger/audit/verify/verify.ts';
import { digestOfRun, type RunDigestContent } from '../../../../../src/ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../../../../src/ledger/store/ledger-db.ts';
import { publish, usageRecord } from '../../../../support/open-ledger.ts';
import { buildRichLedger } from './rich-ledger.ts';

test('the ledger to be edited contains every kind of row, and is valid', async () => {
  const connection = await buildRichLedger();
  expect(verifyLedger(connection).faults).toEqual([]);
  const values = (sql: string): unknown[] => connection.prepare(sql).pluck().all();
  expect(values('SELECT DISTINCT kind FROM finance_history ORDER BY kind')).toEqual([
    'decreased',
    'increased',
    'opened',
    'restored',
    'withdrawn',
  ]);
  expect(values('SELECT DISTINCT kind FROM finance_adjustments ORDER BY kind')).toEqual(['correction', 'reopen']);
  expect(values('SELECT DISTINCT status FROM runs ORDER BY status')).toEqual([
    'applied',
    'failed',
    'superseded',
    'unstable',
  ]);
  expect(values('SELECT action || forced FROM period_events GROUP BY 1')).toEqual(['close0', 'close1', 'reopen0']);
  expect(values('SELECT count(*) FROM runs WHERE applied_seq IS NOT NULL AND entries = 0')[0]).toBeGreaterThan(0);
  expect(values('SELECT count(*) FROM periods WHERE period_key NOT IN (SELECT period_key FROM usage_entries)')).toEqual(
    [1],
  );
});

describe('an edit of two rows that agree with each other', () => {
  test.each([
    {
      what: 'an entry and the state moved to the same tenant and period of another workspace',
      sql: `UPDATE usage_entries SET period_key = period_key + 131072,
              tenant_key = (SELECT o.tenant_key FROM tenants t JOIN tenants o USING (tenant_id)
                WHERE t.tenant_key = usage_entries.tenant_key AND o.workspace_key = 2)
            WHERE entry_id = 1;
            DELETE FROM tenant_usage WHERE (period_key, tenant_key) = (SELECT period_key - 131072, 1 FROM usage_entries WHERE entry_id = 1)`,
      fault: { check: 'entries', entryId: 1 },
    },
    {
      what: 'a delta and the values after it',
      sql: 'UPDATE usage_entries SET credits_delta = credits_delta + 1, credits_after = credits_after + 1 WHERE entry_id = 1',
      fault: { check: 'chain', runKey: 1 },
    },
    {
      what: 'a state and the last entry of its key',
      sql: `UPDATE usage_entries SET credits_delta = 1, credits_after = 1 WHERE entry_id = 12;
            UPDATE tenant_usage SET credits_used = 1 WHERE (period_key, tenant_key) =
              (SELECT period_key, tenant_key FROM usage_entries WHERE entry_id = 12)`,
      fault: { check: 'chain', runKey: 2 },
    },
    {
      what: 'an adjustment booked in the same period of another workspace',
      sql: 'UPDATE adjustments SET booked_period_key = booked_period_key + 131072 WHERE adjustment_id = 1',
      fault: { check: 'adjustments', says: 'adjustment 1 ' },
    },
    {
      what: 'a close that was reopened, moved to the same period of another workspace',
      sql: `UPDATE period_events SET period_key = period_key + 131072
            WHERE event_seq = (SELECT min(event_seq) FROM period_events WHERE action = 'close' AND period_key IN
              (SELECT period_key FROM period_events WHERE action = 'reopen'))`,
      fault: { check: 'closes', says: 'close of 2025-12' },
    },
    {
      what: 'a run of millions of millions of entries',
      sql: 'UPDATE runs SET entries = 9000000000000000000 WHERE run_key = 1',
      fault: { check: 'chain', runKey: 1 },
    },
    {
      what: 'figures whose sum does not fit into 64 bits',
      sql: 'UPDATE usage_entries SET credits_delta = 9223372036854775807 WHERE run_key = 1',
      fault: { check: 'chain', runKey: 1 },
    },
  ])('is found: $what', async ({ sql, fault }) => {
    const connection = await buildRichLedger();
    const runId = connection.prepare('SELECT run_id FROM runs WHERE run_key = ?').pluck();
    const expected = {
      check: fault.check,
      ...('runKey' in fault ? { runId: runId.get(fault.runKey) } : {}),
      ...('entryId' in fault ? { entryId: fault.entryId } : {}),
      ...('says' in fault ? { message: expect.stringContaining(fault.says ?? '') } : {}),
    };
    editPastGuards(connection, sql);
    expect(verifyLedger(connection).faults).toContainEqual(expect.objectContaining(expected));
  });
});

test.each([
  ['DROP TRIGGER usage_entries_no_update', 'the trigger usage_entries_no_update is missing'],
  [
    'DROP VIEW finance_usage; CREATE VIEW finance_usage AS SELECT 1 AS credits_used',
    'the view finance_usage is not the one of this version',
  ],
  [
    'CREATE TRIGGER quiet AFTER INSERT ON usage_entries BEGIN DELETE FROM deliveries; END',
    'the trigger quiet does not belong to this program',
  ],
])('a ledger with changed views or guards fails verification: %s', async (sql, message) => {
  const connection = await buildRichLedger();
  connection.exec(sql);
  expect(verifyLedger(connection).faults).toEqual([{ check: 'schema', runId: null, entryId: null, message }]);
});

test('tables, views and indexes that a reader added are no fault', async () => {
  const connection = await buildRichLedger();
  connection.exec(
    'CREATE TABLE my_notes (id); CREATE VIEW my_view AS SELECT * FROM finance_usage; CREATE INDEX my_index ON tenants (tenant_id); ANALYZE',
  );
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('a forger who rewrites the digests too leaves a valid ledger: only a head digest kept elsewhere reveals it', async () => {
  const { connection, headDigest } = await ledgerWithOneRunMore(5);
  editPastGuards(
    connection,
    `UPDATE usage_entries SET credits_delta = 6, credits_after = 6 WHERE entry_id = (SELECT max(entry_id) FROM usage_entries);
     UPDATE tenant_usage SET credits_used = 6 WHERE changed_run_key = (SELECT max(run_key) FROM runs);
     UPDATE periods SET figures_digest = NULL`,
  );
  const last = connection
    .prepare(
      `SELECT run_key AS runKey, previous_digest AS previousDigest, applied_seq AS appliedSeq, run_id AS runId,
         workspace_id AS workspaceId, finished_at AS finishedAt, first_entry_id AS firstEntryId, entries, kind, slot,
         from_period AS fromPeriod, to_period AS toPeriod, fencing_token AS fencingToken,
         (SELECT max(p.last_change_seq) FROM runs p WHERE p.applied_seq < runs.applied_seq) AS changesAfter,
         last_change_seq AS lastChangeSeq
       FROM runs JOIN workspaces USING (workspace_key) ORDER BY applied_seq DESC LIMIT 1`,
    )
    .get() as RunDigestContent;
  const forged = digestOfRun(connection, last);
  expect(verifyLedger(connection).faults[0]).toMatchObject({ check: 'chain', runId: last.runId });
  editPastGuards(connection, `UPDATE runs SET digest = '${forged}' WHERE run_key = ${last.runKey}`);

  expect(verifyLedger(connection)).toMatchObject({ faults: [], headDigest: forged });
  expect(forged).not.toBe(headDigest);
});

/** The rich ledger with a run of one entry at the end of its chain. */
async function ledgerWithOneRunMore(credits: number): Promise<{ connection: LedgerDb; headDigest: string }> {
  const connection = await buildRichLedger();
  const { digest } = await publish(connection, [usageRecord('acme', credits)], { workspaceId: 'ws-3' });
  const { faults, headDigest } = verifyLedger(connection);
  expect({ faults, headDigest }).toEqual({ faults: [], headDigest: digest });
  return { connection, headDigest };
}

function triggersOf(connection: LedgerDb): Map<string, string> {
  const rows = connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
    name: string;
    sql: string;
  }[];
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

function editPastGuards(connection: LedgerDb, sql: string): void {
  const triggers = triggersOf(connection);
  for (const name of triggers.keys()) connection.exec(`DROP TRIGGER ${name}`);
  connection.pragma('foreign_keys = OFF');
  connection.exec(sql);
  for (const trigger of triggers.values()) connection.exec(trigger);
}
