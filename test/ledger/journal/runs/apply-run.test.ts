import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { failRun } from '../../../../src/ledger/journal/runs/fail-run.ts';
import { KeySet } from '../../../../src/ledger/journal/staging/key-set.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { viewLedger } from '../../../support/ledger-view.ts';
import { applyWalk, beginRun, openLedger, publish, stageWalk, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

test('tenants that two processes add between claim and apply get distinct numbers', async () => {
  const one = openLedger();
  const two = openLedger(one.path);
  await publish(one.connection, [usageRecord('known', 1)], { workspaceId: 'ws-2' });
  const first = beginRun(one.connection, { workspaceId: 'ws-1' });
  const second = beginRun(two.connection, { workspaceId: 'ws-2' });
  stageWalk(first, [usageRecord('a', 10), usageRecord('b', 20), usageRecord('c', 30)]);
  stageWalk(second, [usageRecord('known', 2), usageRecord('c', 300), usageRecord('d', 400)]);

  applyWalk(first);
  const { runId } = applyWalk(second);

  const view = viewLedger(one.path);
  const stored = view.rows('SELECT workspace_id, tenant_id, credits_used FROM finance_usage ORDER BY credits_used');
  expect(stored.map((row) => `${row.workspace_id} ${row.tenant_id} ${row.credits_used}`)).toEqual([
    'ws-2 known 2',
    'ws-1 a 10',
    'ws-1 b 20',
    'ws-1 c 30',
    'ws-2 c 300',
    'ws-2 d 400',
  ]);
  expect(verifyLedger(one.connection).faults).toEqual([]);
  // The certificate speaks of the numbers that the tenants have got, so the next walk over them has the same digest.
  const digests = 'SELECT key_set_digest FROM walks JOIN runs USING (run_key) WHERE run_id = ?';
  expect(view.value(digests, runId)).toBe(keySetOf(one.connection, 'ws-2').digest());
  const again = await publish(two.connection, [usageRecord('d', 400), usageRecord('known', 2), usageRecord('c', 300)], {
    workspaceId: 'ws-2',
  });
  expect(again.entries).toBe(0);
  expect(view.value(digests, again.runId)).toBe(view.value(digests, runId));
});

test('thousands of entries of a run all reach the state and its digest', async () => {
  const { connection, path } = openLedger();
  const listing = (credits: (at: number) => number) =>
    Array.from({ length: 5_000 }, (_, at) => usageRecord(`tenant-${at}`, credits(at)));
  await publish(
    connection,
    listing((at) => at),
  );
  const { runId } = await publish(
    connection,
    listing((at) => (at % 5 === 0 ? at : at + 1)),
  );

  const view = viewLedger(path);
  const wrong = `SELECT count(*) FROM finance_usage
    WHERE credits_used <> substr(tenant_id, 8) + (substr(tenant_id, 8) % 5 > 0)`;
  expect(view.value(wrong)).toBe(0n);
  const entries = view.rows('SELECT * FROM finance_history WHERE run_id = ? ORDER BY entry_id', runId);
  expect(entries).toHaveLength(4_000);
  const [run = {}] = view.rows(
    `SELECT previous_digest, applied_seq, run_id, workspace_id, finished_at, entries, kind, slot, from_period, to_period,
       fencing_token, last_change_seq, digest
     FROM runs JOIN workspaces USING (workspace_key) WHERE run_id = ?`,
    runId,
  );
  const { digest, ...head } = run;
  const lines = entries.map((entry) => [
    ...[entry.entry_id, entry.tenant_id, entry.period, entry.kind],
    ...[entry.credits_delta, entry.requests_delta, entry.credits_after, entry.requests_after],
  ]);
  const text = [Object.values(head), ...lines].map((line) => `${JSON.stringify(line, numbers)}\n`).join('');
  expect(createHash('sha256').update(text).digest('hex')).toBe(digest);
});

test('a failure after the merge rolls back the whole run, which can be ended and repeated', async () => {
  const { connection, path } = openLedger();
  await publish(connection, [usageRecord('a', 10)]);
  const view = viewLedger(path);
  const before = view.dump();
  const underWay = beginRun(connection);
  stageWalk(underWay, [usageRecord('a', 20), usageRecord('new', 1)]);
  connection.exec(
    "CREATE TEMP TRIGGER full BEFORE UPDATE OF digest ON main.runs BEGIN SELECT RAISE(ABORT, 'disk full'); END",
  );

  expect(() => applyWalk(underWay)).toThrow('disk full');

  expect(view.dump()).toBe(before);
  expect(view.value('SELECT count(*) FROM tenants')).toBe(1n);
  connection.exec('DROP TRIGGER full');
  failRun(connection, underWay.run, { status: 'failed', code: 'x', message: '', pages: 0, records: 0 }, NOON);
  const again = beginRun(connection);
  stageWalk(again, [usageRecord('a', 20), usageRecord('new', 1)]);
  expect(applyWalk(again).entries).toBe(2);
  expect(verifyLedger(connection).faults).toEqual([]);
});

const numbers = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? Number(value) : value);

/** The keys of a workspace as the ledger holds them. */
function keySetOf(connection: LedgerDb, workspaceId: string): KeySet {
  const rows = connection
    .prepare(
      `SELECT u.period_key, u.tenant_key FROM tenant_usage u JOIN tenants USING (tenant_key)
       JOIN workspaces USING (workspace_key) WHERE workspace_id = ?`,
    )
    .raw()
    .all(workspaceId) as [number, number][];
  const keys = new KeySet();
  for (const [period, tenant] of rows) keys.add(keys.period(period), tenant);
  return keys;
}
