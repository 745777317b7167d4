import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { failRun } from '../../../../src/ledger/journal/runs/fail-run.ts';
import { pruneRuns } from '../../../../src/ledger/journal/runs/prune-runs.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { beginRun, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const NOW = NOON + 2_000 * HOUR;
const FAILURE = { status: 'failed', code: 'http_503', message: 'away', pages: 1, records: 3 } as const;

test('old runs without entries lose their certificate but stay in the chain; those with entries keep it', async () => {
  const { connection } = openLedger();
  await publishHourly(connection, [1, 1, 1, 2, 2]);
  const before = verifyLedger(connection);

  expect(pruneRuns(connection, hour(4), NOW)).toEqual({ certificates: 2, runs: 0, more: false });

  expect(certificates(connection)).toEqual([1, 4, 5]);
  expect(verifyLedger(connection)).toEqual(before);
  expect(before).toMatchObject({ faults: [], runs: 5 });
});

test('old runs that applied nothing are deleted, except the last of a workspace and running ones', async () => {
  const { connection } = openLedger();
  await publishHourly(connection, [1]);
  for (const workspaceId of ['ws-1', 'ws-1', 'ws-2']) {
    failRun(connection, beginRun(connection, { workspaceId, nowMs: NOON + 2 * HOUR }).run, FAILURE, NOON + 2 * HOUR);
  }
  beginRun(connection, { workspaceId: 'ws-3', nowMs: NOON + 2 * HOUR });
  const status = () =>
    connection.prepare('SELECT last_status FROM finance_freshness ORDER BY workspace_id').pluck().all();
  expect(status()).toEqual(['failed', 'failed', 'running']);

  expect(pruneRuns(connection, hour(1_000), NOW)).toMatchObject({ runs: 1 });

  expect(connection.prepare('SELECT run_key FROM runs ORDER BY run_key').pluck().all()).toEqual([1, 3, 4, 5]);
  expect(status()).toEqual(['failed', 'failed', 'running']);
  expect(verifyLedger(connection).faults).toEqual([]);
  await publishHourly(connection, [2]);
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('newer runs stay, and so does everything after the first newer run', async () => {
  const { connection } = openLedger();
  await publishHourly(connection, [1, 1, 1]);
  await publish(connection, [usageRecord('a', 1)], { nowMs: NOON - 100 * HOUR });

  expect(pruneRuns(connection, hour(0), NOW)).toEqual({ certificates: 0, runs: 0, more: false });
  expect(pruneRuns(connection, hour(2), NOW)).toEqual({ certificates: 1, runs: 0, more: false });
  expect(certificates(connection)).toEqual([1, 3, 4]);
});

test('more future-dated runs than one step processes do not block later ones for ever', async () => {
  const { connection } = openLedger();
  await publishHourly(connection, [1]);
  const add = connection.prepare(
    `INSERT INTO runs (run_id, workspace_key, kind, status, fencing_token, started_at) VALUES (?, 1, 'manual', 'failed', 1, ?)`,
  );
  for (let run = 0; run < 1_200; run += 1) add.run(`run_${run}`, hour(3_000));
  for (let run = 1_200; run < 1_210; run += 1) add.run(`run_${run}`, hour(1));

  const steps = [1, 2, 3, 4].map(() => pruneRuns(connection, hour(2), NOW).runs);

  expect(steps.reduce((sum, runs) => sum + runs)).toBe(1_210);
});

test('a long history is pruned in steps', async () => {
  const { connection } = openLedger();
  await publishHourly(connection, [1]);
  const add = connection.prepare(
    `INSERT INTO runs (run_id, workspace_key, kind, status, fencing_token, started_at) VALUES (?, 1, 'manual', 'failed', 1, ?)`,
  );
  for (let run = 0; run < 1_200; run += 1) add.run(`run_${run}`, hour(1));

  const steps = [1, 2, 3, 4].map(() => pruneRuns(connection, hour(2), NOW));

  expect(steps.map(({ runs }) => runs)).toEqual([499, 500, 201, 0]);
  expect(steps.map(({ more }) => more)).toEqual([true, true, false, false]);
});

test.each([
  ['of a run with entries', 1],
  ['of a run that the retention has not reached', 3],
])('a certificate %s is neither deleted nor missing unnoticed', async (_, runKey) => {
  const { connection } = openLedger();
  await publishHourly(connection, [1, 1, 1]);
  pruneRuns(connection, hour(2), NOW);
  const remove = () => connection.prepare('DELETE FROM walks WHERE run_key = ?').run(runKey);
  expect(remove).toThrow(expect.objectContaining({ code: 'SQLITE_CONSTRAINT_TRIGGER' }));
  const trigger = connection.prepare("SELECT sql FROM sqlite_schema WHERE name = 'walks_no_delete'").pluck().get();
  connection.exec('DROP TRIGGER walks_no_delete');
  remove();
  connection.exec(String(trigger));

  expect(verifyLedger(connection).faults).toMatchObject([{ check: 'walks' }]);
});

test('an applied run is never deleted', async () => {
  const { connection } = openLedger();
  await publishHourly(connection, [1, 1]);
  pruneRuns(connection, hour(1_000), NOW);
  connection.pragma('foreign_keys = OFF');
  expect(() => connection.exec('DELETE FROM runs WHERE run_key = 2')).toThrow(/runs are kept/);
});

/** One run an hour from the first hour on; each gives the tenant so many credits. */
async function publishHourly(connection: LedgerDb, credits: readonly number[]): Promise<void> {
  for (const [index, figure] of credits.entries()) {
    await publish(connection, [usageRecord('a', figure)], { nowMs: NOON + index * HOUR });
  }
}

function certificates(connection: LedgerDb): unknown[] {
  return connection.prepare('SELECT DISTINCT run_key FROM walks ORDER BY run_key').pluck().all();
}

function hour(hours: number): string {
  return new Date(NOON + hours * HOUR).toISOString();
}
