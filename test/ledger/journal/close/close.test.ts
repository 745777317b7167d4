import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { commitClose } from '../../../../src/ledger/journal/charges/commit-close.ts';
import { readStatement } from '../../../../src/ledger/journal/charges/read-statement.ts';
import {
  type CloseRequest,
  closePeriod,
  type PeriodEvent,
  reopenPeriod,
} from '../../../../src/ledger/journal/close/close-period.ts';
import { failRun } from '../../../../src/ledger/journal/runs/fail-run.ts';
import { FencedError } from '../../../../src/ledger/store/file/sqlite-errors.ts';
import type { LedgerDb } from '../../../../src/ledger/store/ledger-db.ts';
import { viewLedger } from '../../../support/ledger-view.ts';
import { applyWalk, beginRun, openLedger, publish, stageWalk, usageRecord } from '../../../support/open-ledger.ts';
import { thrownBy } from '../../../support/rejection.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR = 3_600_000;
const PERIOD = '2026-02';
const END = Date.UTC(2026, 2, 1);
const RECORDS = [usageRecord('a', 100, PERIOD), usageRecord('b', 50, PERIOD)];

test('a period that has ended, settled and not changed over two walks 12 h apart is closed with its figures', async () => {
  const { connection, view } = await openProven();

  const event = close(connection, { nowMs: NOON + 12 * HOUR });

  expect(event).toMatchObject({ tenants: 2n, creditsUsed: 150n, requestCount: 20n, overridden: [], eventSeq: 3 });
  expect(view.rows('SELECT action, at, actor, note, forced, overridden, credits_used FROM finance_closes')).toEqual([
    {
      action: 'close',
      at: '2026-03-21T00:00:00.000Z',
      actor: 'Ada',
      note: 'invoice run 12',
      forced: 0n,
      overridden: '[]',
      credits_used: 150n,
    },
  ]);
  expect(view.value('SELECT DISTINCT state FROM finance_usage')).toBe('closed');
  expect(
    view.rows('SELECT state, credits_used, closed_at, closed_by, close_note, close_forced FROM finance_period_totals'),
  ).toEqual([
    {
      state: 'closed',
      credits_used: 150n,
      closed_at: '2026-03-21T00:00:00.000Z',
      closed_by: 'Ada',
      close_note: 'invoice run 12',
      close_forced: 0n,
    },
  ]);
  expect(verifyLedger(connection)).toMatchObject({ faults: [], headDigest: event.digest });
});

test('a period is refused until its last millisecond has passed', async () => {
  const { connection } = openLedger();
  await publish(connection, RECORDS, { nowMs: END - HOUR });

  expect(refusal(connection, { nowMs: END - 1, settleHours: 0 })).toEqual([
    'it is not over: it ends at 2026-03-01 00:00 UTC',
  ]);
  expect(refusal(connection, { nowMs: END, settleHours: 0 })).toEqual([
    'no complete walk has been made since the month ended; sync first',
  ]);
});

test('a settling period is refused with the end of its settling time', async () => {
  const { connection } = openLedger();
  await publish(connection, RECORDS, { nowMs: END });
  await publish(connection, RECORDS, { nowMs: END + 12 * HOUR });

  expect(refusal(connection, { nowMs: END + 48 * HOUR - 1 })).toEqual([
    'it settles for 48 h, until 2026-03-03 00:00 UTC',
  ]);
  expect(close(connection, { nowMs: END + 48 * HOUR }).overridden).toEqual([]);
});

test('one walk is not enough, nor is a second one less than 12 h later', async () => {
  const { connection } = openLedger();
  await publish(connection, RECORDS, { nowMs: NOON });
  const unproven = [expect.stringMatching(/^two complete walks 12 h apart.*sync again after 2026-03-21 00:00 UTC$/)];
  expect(refusal(connection, { nowMs: NOON + 24 * HOUR })).toEqual(unproven);

  await publish(connection, RECORDS, { nowMs: NOON + 12 * HOUR - 1 });
  expect(refusal(connection, { nowMs: NOON + 24 * HOUR })).toEqual(unproven);

  await publish(connection, RECORDS, { nowMs: NOON + 12 * HOUR });
  expect(close(connection, { nowMs: NOON + 24 * HOUR }).overridden).toEqual([]);
});

test('a refusal lists all reasons at once, with a remedy', async () => {
  const { connection } = openLedger();
  await publish(connection, RECORDS, { nowMs: END - HOUR });
  await publish(connection, RECORDS.slice(0, 1), { nowMs: END - HOUR });

  const error = thrownBy(() => close(connection, { nowMs: END + HOUR }));

  expect(error).toMatchObject({ code: 'close_refused', retryable: false, hint: expect.stringContaining('--force') });
  expect(String((error as Error).message).split('\n')).toEqual([
    '2026-02 cannot be closed yet:',
    '  - it settles for 48 h, until 2026-03-03 00:00 UTC',
    '  - no complete walk has been made since the month ended; sync first',
    '  - 1 of its records are missing from the latest walk and not yet withdrawn',
  ]);
});

test('a month without records is closed like others, with an empty statement, and can be reopened', async () => {
  const { connection, view } = await openProven();
  const more = [...RECORDS, usageRecord('a', 1, '2025-12')];
  await publish(connection, more, { nowMs: NOON + 24 * HOUR });
  await publish(connection, more, { nowMs: NOON + 36 * HOUR });
  const nowMs = NOON + 36 * HOUR;
  const request = { workspaceId: 'ws-1', period: '2026-01', nowMs };
  expect(readStatement(connection, request)).toMatchObject({ state: 'settling', tenants: [], totals: [] });

  expect(close(connection, { period: '2026-01', nowMs })).toMatchObject({
    tenants: 0n,
    creditsUsed: 0n,
    overridden: [],
  });

  expect(readStatement(connection, request)).toMatchObject({ state: 'closed', tenants: [], totals: [] });
  expect(view.value("SELECT state FROM finance_period_totals WHERE period = '2026-01'")).toBe('closed');
  await publish(connection, [...more, usageRecord('late', 5, '2026-01')], { nowMs: nowMs + HOUR });
  expect(view.rows('SELECT corrects_period, tenant_id, credits_delta FROM finance_adjustments')).toEqual([
    { corrects_period: '2026-01', tenant_id: 'late', credits_delta: 5n },
  ]);
  reopen(connection, { period: '2026-01', nowMs: nowMs + 2 * HOUR });
  expect(verifyLedger(connection).faults).toEqual([]);
});

test('a run under way blocks close and reopen until it has ended', async () => {
  const { connection } = await openProven();
  const underWay = beginRun(connection, { nowMs: NOON + 13 * HOUR });
  stageWalk(underWay, RECORDS);

  const error = thrownBy(() => close(connection, { nowMs: NOON + 13 * HOUR + 1_000, force: true }));
  expect(error).toMatchObject({ code: 'lease_held', retryable: true, retryAfterMs: 59_000 });

  applyWalk(underWay, NOON + 13 * HOUR);
  close(connection, { nowMs: NOON + 13 * HOUR + 1_000 });
  beginRun(connection, { nowMs: NOON + 14 * HOUR });
  expect(thrownBy(() => reopen(connection, { nowMs: NOON + 14 * HOUR }))).toMatchObject({ code: 'lease_held' });
});

test('a run that slept through its lease cannot be applied after a close', async () => {
  const { connection, path, view } = await openProven();
  const sleeper = beginRun(openLedger(path).connection, { nowMs: NOON + 13 * HOUR });
  stageWalk(sleeper, [usageRecord('a', 999, PERIOD)]);
  close(connection, { nowMs: NOON + 14 * HOUR });
  const before = view.dump();

  expect(thrownBy(() => applyWalk(sleeper, NOON + 14 * HOUR))).toBeInstanceOf(FencedError);

  const failure = { status: 'failed', code: 'fenced', message: 'fenced', pages: 1, records: 1 } as const;
  failRun(connection, sleeper.run, failure, NOON + 14 * HOUR);
  expect(view.dump()).toBe(before);
  expect(view.rows('SELECT error_code FROM finance_runs ORDER BY started_at DESC LIMIT 1')).toEqual([
    { error_code: 'fenced' },
  ]);
  expect(verifyLedger(connection).faults).toEqual([]);
  expect((await publish(connection, RECORDS, { nowMs: NOON + 15 * HOUR })).entries).toBe(0);
});

/** A ledger whose February stood still over two walks 12 h apart, the first of them at noon. */
async function openProven() {
  const { connection, path } = openLedger();
  await publish(connection, RECORDS, { nowMs: NOON });
  await publish(connection, RECORDS, { nowMs: NOON + 12 * HOUR });
  return { connection, path, view: viewLedger(path) };
}

function close(connection: LedgerDb, request: Partial<CloseRequest> & { nowMs: number }): PeriodEvent {
  const usual = { workspaceId: 'ws-1', period: PERIOD, by: 'Ada', note: 'invoice run 12', force: false };
  return closePeriod(connection, { ...usual, settleHours: 48, ...request }, commitClose);
}

function reopen(connection: LedgerDb, request: { period?: string; workspaceId?: string; nowMs?: number } = {}) {
  const usual = { workspaceId: 'ws-1', period: PERIOD, by: 'Bo', note: 'a mistake', nowMs: NOON + 12 * HOUR };
  return reopenPeriod(connection, { ...usual, ...request });
}

/** The reasons for which a close is refused. */
function refusal(connection: LedgerDb, request: Partial<CloseRequest> & { nowMs: number }): unknown {
  return (thrownBy(() => close(connection, request)) as { reasons?: unknown }).reasons;
}
