import { expect, test } from 'vitest';
import { type ClaimedRun, claimRun, LEASE_MS, renewLease } from '../../../../src/ledger/journal/runs/claim-run.ts';
import { failRun } from '../../../../src/ledger/journal/runs/fail-run.ts';
import { LeaseHeldError } from '../../../../src/ledger/store/file/sqlite-errors.ts';
import { viewLedger } from '../../../support/ledger-view.ts';
import { beginRun, openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { thrownBy } from '../../../support/rejection.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const SLOT = '2026-03-20T12:00:00.000Z';

test('a workspace with a live lease cannot be claimed, and the error has the time to wait', () => {
  const { connection } = openLedger();
  beginRun(connection);

  const error = thrownBy(() => beginRun(connection, { nowMs: NOON + 1_000 }));

  expect(error).toBeInstanceOf(LeaseHeldError);
  expect(error).toMatchObject({ code: 'lease_held', retryable: true, retryAfterMs: LEASE_MS - 1_000 });
});

test('a renewed lease lasts a full term from its renewal', () => {
  const { connection } = openLedger();
  const { run } = beginRun(connection);
  expect(renewLease(connection, run, NOON + 50_000)).toBe(true);

  expect(thrownBy(() => beginRun(connection, { nowMs: NOON + LEASE_MS + 1 }))).toBeInstanceOf(LeaseHeldError);
  expect(beginRun(connection, { nowMs: NOON + 50_000 + LEASE_MS }).run.fencingToken).toBe(2);
});

test('a lease of a dead process on this machine is taken over at once', () => {
  const { connection } = openLedger();
  beginRun(connection);
  // The highest process id of a 64-bit Linux is 2^22: this one cannot be alive.
  connection.prepare('UPDATE leases SET holder_pid = 4194305').run();

  expect(beginRun(connection).run.fencingToken).toBe(2);
});

test('a lease of an earlier process with the same id is taken over at once', () => {
  const { connection } = openLedger();
  for (const [index, pid] of [process.pid, process.ppid].entries()) {
    beginRun(connection);
    connection.prepare("UPDATE leases SET holder_pid = ?, holder_start = 'earlier'").run(pid);
    const { run } = beginRun(connection);
    expect(run.fencingToken).toBe(2 * index + 2);
    connection.prepare('UPDATE leases SET released = 1').run();
  }
});

test('a lease of another machine is respected until it expires, whatever its process id', () => {
  const { connection } = openLedger();
  beginRun(connection);
  connection.prepare("UPDATE leases SET holder_pid = 4194305, holder_host = 'elsewhere'").run();

  expect(thrownBy(() => beginRun(connection))).toBeInstanceOf(LeaseHeldError);
});

test('an applied slot is not repeated, and names the run that did it', async () => {
  const { connection, path } = openLedger();
  const { runId } = await publish(connection, [usageRecord('a', 1)], { kind: 'scheduled', slot: SLOT });

  expect(claimOf(connection, 'scheduled')).toEqual({ doneBy: runId });
  expect(viewLedger(path).value('SELECT count(*) FROM runs')).toBe(1n);
});

test('a slot with a failed run is repeated, and so is the same slot of another kind', async () => {
  const { connection } = openLedger();
  const { run } = beginRun(connection, { kind: 'scheduled', slot: SLOT });
  failRun(connection, run, { status: 'failed', code: 'network', message: '', pages: 0, records: 0 }, NOON);
  await publish(connection, [usageRecord('a', 1)], { kind: 'scheduled', slot: SLOT });

  expect(claimOf(connection, 'reconcile')).toMatchObject({ fencingToken: 3, first: false });
});

function claimOf(connection: Parameters<typeof claimRun>[0], kind: 'scheduled' | 'reconcile'): ClaimedRun | object {
  const window = { from: null, to: null };
  return claimRun(connection, { workspaceId: 'ws-1', workspaceName: 'Test', kind, slot: SLOT, window, nowMs: NOON });
}
