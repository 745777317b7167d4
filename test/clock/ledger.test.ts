import { expect } from 'vitest';
import { isoTime } from '../../src/core/clock.ts';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { findCloseStanding } from '../../src/ledger/journal/close/close-standing.ts';
import { usageAsOf } from '../../src/ledger/journal/runs/as-of.ts';
import { claimRun, LEASE_MS } from '../../src/ledger/journal/runs/claim-run.ts';
import { pruneRuns } from '../../src/ledger/journal/runs/prune-runs.ts';
import { LeaseHeldError } from '../../src/ledger/store/file/sqlite-errors.ts';
import { readPublishLag } from '../../src/publish/copy-status.ts';
import { createWorld, FIRST } from '../commands/world.ts';
import { beginRun, closeMonth, openLedger, publish, reopenMonth, usageRecord } from '../support/open-ledger.ts';
import { playTable, shownBy } from './jumps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const FEBRUARY = '2026-02';
const CLOSING = { workspaceId: 'ws-1', period: FEBRUARY, settleHours: 48 };

playTable([
  {
    kind: 'leases',
    must: 'a workspace that another host holds is free a minute later',
    play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      const claim = { workspaceId: 'ws-1', workspaceName: 'ws-1', kind: 'manual' as const, slot: null };
      const holder = { host: 'elsewhere', pid: 1, start: 'once' };
      claimRun(connection, { ...claim, window: { from: null, to: null }, nowMs: wrong }, { holder });
      expect(() => beginRun(connection, { nowMs: right })).toThrow(LeaseHeldError);
      expect(beginRun(connection, { nowMs: right + LEASE_MS + 1 }).run.fencingToken).toBe(2);
    },
  },
  {
    kind: 'retention',
    must: 'what is old goes, whatever run of the future lies before it',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      for (const nowMs of [before, wrong, right, right + HOUR_MS, right + 2 * HOUR_MS, right + 3 * HOUR_MS]) {
        await publish(connection, [usageRecord('acme', 1)], { nowMs });
      }
      const nowMs = right + 4 * HOUR_MS;
      pruneRuns(connection, isoTime(nowMs - 2.5 * HOUR_MS), nowMs);
      const kept = connection.prepare('SELECT DISTINCT run_key FROM walks ORDER BY run_key').pluck().all();
      // The first has entries, and so keeps its certificate.
      expect(kept).toEqual([1, 5, 6]);
    },
  },
  {
    kind: 'what the ledger said at a time',
    must: 'the last link of the chain that is not later, at once and when the wrong time has come',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1, FEBRUARY)], { nowMs: before });
      await publish(connection, [usageRecord('acme', 2, FEBRUARY)], { nowMs: wrong });
      closeMonth(connection, FEBRUARY, wrong + MINUTE_MS);
      await publish(connection, [usageRecord('acme', 3, FEBRUARY)], { nowMs: right + MINUTE_MS });
      reopenMonth(connection, FEBRUARY, right + 20 * MINUTE_MS);
      await publish(connection, [usageRecord('acme', 4, FEBRUARY)], { nowMs: right + 40 * MINUTE_MS });
      const said = (ms: number) =>
        usageAsOf(connection, isoTime(ms)).map(
          (row) => `${row.credits_used} ${row.state === 'closed' ? 'closed' : ''}`,
        );
      expect(said(right + 10 * MINUTE_MS)).toEqual(['2 closed']);
      expect(said(right + 30 * MINUTE_MS)).toEqual(['3 ']);
      expect(said(right + 60 * MINUTE_MS)).toEqual(['4 ']);
      expect(said(wrong + HOUR_MS)).toEqual(['4 ']);
    },
  },
  {
    kind: 'a close and its commitment',
    must: 'stand and prove, take corrections, and can be taken back',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      const records = (credits: number) => [usageRecord('acme', credits, FEBRUARY), usageRecord('acme', 1)];
      await publish(connection, records(10), { nowMs: before });
      closeMonth(connection, FEBRUARY, wrong);
      await publish(connection, records(13), { nowMs: right });
      const adjusted = 'SELECT corrects_period, credits_delta FROM finance_adjustments';
      expect(connection.prepare(adjusted).all()).toEqual([{ corrects_period: FEBRUARY, credits_delta: 3 }]);
      expect(verifyLedger(connection).faults).toEqual([]);
      reopenMonth(connection, FEBRUARY, right + MINUTE_MS);
      closeMonth(connection, FEBRUARY, right + 2 * MINUTE_MS);
      expect(verifyLedger(connection).faults).toEqual([]);
      expect(
        connection.prepare('SELECT credits_used, state FROM finance_usage WHERE period = ?').get(FEBRUARY),
      ).toEqual({ credits_used: 13, state: 'closed' });
    },
  },
  {
    kind: 'a close that waits for two walks that agree',
    must: 'twelve hours after the first walk, not after what its clock showed',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      const blockers = (nowMs: number) =>
        findCloseStanding(connection, { ...CLOSING, nowMs }).blockers.map(({ reason }) => reason);
      const read = (nowMs: number) => publish(connection, [usageRecord('acme', 1, FEBRUARY)], { nowMs });
      await read(right);
      await read(wrong);
      for (const nowMs of [right + MINUTE_MS, right + 2 * MINUTE_MS]) {
        expect(blockers(nowMs)).toEqual([expect.stringContaining('sync again after 2026-03-21 00:00 UTC')]);
        await read(nowMs);
      }
      await read(right + 13 * HOUR_MS);
      expect(blockers(right + 13 * HOUR_MS)).toEqual([]);
    },
  },
  {
    kind: 'a first walk by a clock ahead',
    must: 'keeps no close waiting for longer than any other',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      const read = (nowMs: number) => publish(connection, [usageRecord('acme', 1, FEBRUARY)], { nowMs });
      await read(wrong);
      await read(right + MINUTE_MS);
      await read(right + 13 * HOUR_MS);
      expect(findCloseStanding(connection, { ...CLOSING, nowMs: right + 13 * HOUR_MS }).blockers).toEqual([]);
    },
  },
  {
    kind: 'how far the copy in Postgres is behind',
    must: 'as long as the first link has waited whose time is known',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: wrong });
      await publish(connection, [usageRecord('acme', 2)], { nowMs: right });
      expect(readPublishLag(connection, 0, right + 10 * MINUTE_MS)).toEqual({ links: 2, seconds: 600 });
    },
  },
  {
    kind: 'status',
    must: 'names the times to come, and counts no run of the future as fresh',
    async play(jump) {
      const world = await createWorld(FIRST);
      const { wrong, right } = shownBy(jump, world.clock.nowMs);
      Object.assign(world.clock, { nowMs: wrong, serviceMs: wrong });
      expect(await world.run('sync')).toMatchObject({ code: 0 });
      Object.assign(world.clock, { nowMs: right, serviceMs: right });
      const { out } = await world.run('status', '--json');
      expect(JSON.parse(out)).toMatchObject({
        times_ahead: { count: 1, latest_at: isoTime(wrong) },
        workspaces: [{ state: 'stale' }],
      });
      expect((await world.run('status')).out).toContain('has been set back');
    },
  },
]);
