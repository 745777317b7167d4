import { expect } from 'vitest';
import { addSilence } from '../../src/alerts/book/actions.ts';
import { advance, type Moment } from '../../src/alerts/book/lifecycle.ts';
import { readMutes } from '../../src/alerts/book/mutes.ts';
import { Curves } from '../../src/alerts/evaluate/curves.ts';
import { evaluateLedger } from '../../src/alerts/evaluate/evaluate-self.ts';
import { RunMoments } from '../../src/alerts/evaluate/run-moments.ts';
import { composeDigests } from '../../src/alerts/notify/digests/compose-digests.ts';
import { nextDigestMs } from '../../src/alerts/notify/routes.ts';
import type { Judgement } from '../../src/alerts/rules/rule.ts';
import { isoTime } from '../../src/core/clock.ts';
import { verifyLedger } from '../../src/ledger/audit/verify/verify.ts';
import { commitClose } from '../../src/ledger/journal/charges/commit-close.ts';
import { closeObstacles } from '../../src/ledger/journal/close/close-obstacles.ts';
import { closePeriod, reopenPeriod } from '../../src/ledger/journal/close/close-period.ts';
import { usageAsOf } from '../../src/ledger/journal/runs/as-of.ts';
import { claimRun, LEASE_MS } from '../../src/ledger/journal/runs/claim-run.ts';
import { pruneRuns } from '../../src/ledger/journal/runs/prune-runs.ts';
import { LeaseHeldError } from '../../src/ledger/store/errors.ts';
import type { LedgerConnection } from '../../src/ledger/store/file/open.ts';
import { periodKeyOf } from '../../src/ledger/store/schema/keys.ts';
import { lagOf } from '../../src/publish/lag.ts';
import { createWorld, FIRST } from '../commands/world.ts';
import { beginRun, openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { listingOf } from '../support/run/listing.ts';
import { LOG_ROUTES, realRun, writerOn } from '../support/run/real-run.ts';
import { NOON } from '../support/time/test-clock.ts';
import { playTable, shownBy } from './jumps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const FEBRUARY = '2026-02';
const PENDING = { stage: 'pace', severity: 'warning', measure: 5n };

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
      const close = { workspaceId: 'ws-1', period: FEBRUARY, by: 'Ada', note: '', force: true, settleHours: 48 };
      closePeriod(connection, { ...close, nowMs: wrong + MINUTE_MS }, commitClose);
      await publish(connection, [usageRecord('acme', 3, FEBRUARY)], { nowMs: right + MINUTE_MS });
      reopenPeriod(connection, { ...close, nowMs: right + 20 * MINUTE_MS });
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
      const close = { workspaceId: 'ws-1', period: FEBRUARY, by: 'Ada', note: '', force: true, settleHours: 48 };
      closePeriod(connection, { ...close, nowMs: wrong }, commitClose);
      await publish(connection, records(13), { nowMs: right });
      const adjusted = 'SELECT corrects_period, credits_delta FROM finance_adjustments';
      expect(connection.prepare(adjusted).all()).toEqual([{ corrects_period: FEBRUARY, credits_delta: 3 }]);
      expect(verifyLedger(connection).faults).toEqual([]);
      reopenPeriod(connection, { ...close, nowMs: right + MINUTE_MS });
      closePeriod(connection, { ...close, nowMs: right + 2 * MINUTE_MS }, commitClose);
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
      const obstacles = (nowMs: number) =>
        closeObstacles(connection, {
          ...{ workspaceKey: 1, periodKey: periodKeyOf(1, FEBRUARY), period: FEBRUARY, settleHours: 48, nowMs },
        });
      const read = (nowMs: number) => publish(connection, [usageRecord('acme', 1, FEBRUARY)], { nowMs });
      await read(right);
      await read(wrong);
      for (const nowMs of [right + MINUTE_MS, right + 2 * MINUTE_MS]) {
        expect(obstacles(nowMs)).toEqual([expect.stringContaining('a walk after 2026-03-21T00:00:00.000Z')]);
        await read(nowMs);
      }
      await read(right + 13 * HOUR_MS);
      expect(obstacles(right + 13 * HOUR_MS)).toEqual([]);
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
      const subject = { workspaceKey: 1, periodKey: periodKeyOf(1, FEBRUARY), period: FEBRUARY, settleHours: 48 };
      expect(closeObstacles(connection, { ...subject, nowMs: right + 13 * HOUR_MS })).toEqual([]);
    },
  },
  {
    kind: 'silences',
    must: 'stand until the time that a person has set',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: before });
      const silence = { kind: 'silence', workspaceId: null, tenant: '*', period: '*', upToCredits: null } as const;
      const set = { ...silence, reason: 'a test', by: 'Ada' };
      const early = addSilence(connection, { ...set, rule: 'jump', untilMs: before + HOUR_MS, nowMs: before });
      const late = addSilence(connection, { ...set, rule: 'drop', untilMs: wrong + HOUR_MS, nowMs: wrong });
      const by = (rule: 'jump' | 'drop', nowMs: number) =>
        readMutes(connection, 1, nowMs).by({ rule, tenantId: 'acme', period: '2026-03', credits: null });
      expect([by('jump', right), by('drop', right)]).toEqual([early, late]);
      expect([by('jump', before + HOUR_MS), by('drop', wrong + HOUR_MS - 1)]).toEqual([null, late]);
      expect(by('drop', wrong + HOUR_MS)).toBeNull();
    },
  },
  {
    kind: 'alerts that wait to be confirmed',
    must: 'no longer than they were meant to',
    play(jump) {
      const { wrong, right } = shownBy(jump);
      const judgement = { verdict: 'holds', finding: { ...PENDING, confirmAfterMs: HOUR_MS } } as Judgement;
      const at = (nowMs: number): Moment => ({ nowMs, runKey: 1, seeding: false, waits: () => false });
      const begun = advance(null, judgement, at(wrong));
      const seen = advance(begun?.status ?? null, judgement, at(right));
      expect(seen).toMatchObject({ change: null, status: { state: 'pending' } });
      expect(advance(seen?.status ?? null, judgement, at(right + HOUR_MS))).toMatchObject({ change: 'fired' });
    },
  },
  {
    kind: 'alerts that were told while the clock was ahead',
    must: 'are told again when they begin again, and then not twice a day',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: before });
      const tell = (detail: string | null, nowMs: number) =>
        evaluateLedger(connection, { rule: 'export_failed', detail }, { channels: LOG_ROUTES, nowMs }).notificationIds
          .length;
      expect([tell('disk full', wrong), tell(null, wrong + 1)]).toEqual([1, 1]);
      expect([tell('disk full', right + MINUTE_MS), tell(null, right + 2 * MINUTE_MS)]).toEqual([1, 1]);
      expect(tell('disk full', right + 3 * MINUTE_MS)).toBe(0);
    },
  },
  {
    kind: 'digests',
    must: 'within a day',
    async play(jump) {
      // Nine hours later the digest of the next day has been missed, too.
      const { before, wrong, right } = shownBy(jump, NOON + 11.5 * HOUR_MS);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: before });
      evaluateLedger(connection, { rule: 'export_failed', detail: 'x' }, { channels: LOG_ROUTES, nowMs: wrong });
      // As what is not urgent waits for the next hour of the digest.
      const dueMs = nextDigestMs(8, wrong);
      connection.prepare("UPDATE outbox SET state = 'held', next_attempt_at = ?").run(isoTime(dueMs));
      const hours = Array.from({ length: 25 }, (_, hour) => right + hour * HOUR_MS);
      expect(hours.flatMap((nowMs) => composeDigests(connection, nowMs))).toHaveLength(1);
    },
  },
  {
    kind: 'periods that were over for a clock ahead',
    must: 'are open again with the next run, and settle in their time',
    async play(jump) {
      const { wrong, right } = shownBy(jump, Date.UTC(2026, 2, 31, 20));
      const { connection } = openLedger();
      const final = () =>
        connection.prepare("SELECT final_run_key FROM periods WHERE period = '2026-03'").pluck().get();
      const read = (credits: number, nowMs: number) =>
        realRun({
          ...{ writer: writerOn(connection), source: listingOf('ws-1', [usageRecord('acme', credits)]) },
          ...{ now: () => nowMs, workspace: { id: 'ws-1', settleHours: 1 } },
        });
      await read(1, right);
      await read(2, wrong);
      expect(final()).toBe(2);
      await read(3, right + HOUR_MS);
      expect(final()).toBeNull();
      await read(4, right + 6 * HOUR_MS);
      expect(final()).toBe(4);
    },
  },
  {
    kind: 'readings of the past',
    must: 'are those of the last run of the chain by then',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      const later = [9, 8, 7, 6, 5, 4, 3, 2, 1].map((hours) => wrong - hours * HOUR_MS + MINUTE_MS);
      for (const [index, nowMs] of [right, wrong, ...later, wrong + HOUR_MS].entries()) {
        await publish(connection, [usageRecord('acme', 10 * (index + 1))], { nowMs });
      }
      const moments = new RunMoments({ history: connection, workspaceKey: 1, nowMs: wrong + DAY_MS });
      expect(moments.placeOf(wrong + MINUTE_MS)).toMatchObject({
        earlier: { lastEntryId: lastEntryOf(connection, 11) },
      });
      expect(moments.placeOf(right + 1)).toMatchObject({ earlier: { lastEntryId: lastEntryOf(connection, 1) } });
      expect(moments.placeOf(wrong + HOUR_MS)).toMatchObject({ earlier: { lastEntryId: lastEntryOf(connection, 12) } });
    },
  },
  {
    kind: 'since when a tenant is known',
    must: 'since the run that saw it, and that was no later than those after it',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      for (const nowMs of [wrong, wrong + MINUTE_MS, right, right + HOUR_MS]) {
        await publish(connection, [usageRecord('acme', 1)], { nowMs });
      }
      const curves = new Curves({ connection, history: connection, workspaceKey: 1, nowMs: right + DAY_MS });
      expect([1, 2, 3, 4, 5].map((runKey) => curves.endOf(runKey))).toEqual([
        right,
        right,
        right,
        right + HOUR_MS,
        null,
      ]);
    },
  },
  {
    kind: 'what has to be looked for since the last run',
    must: 'since the last one that can have been',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: right - HOUR_MS });
      await publish(connection, [usageRecord('acme', 2)], { nowMs: wrong });
      const curves = new Curves({ connection, history: connection, workspaceKey: 1, nowMs: right });
      expect(curves.lastRunMs()).toBe(right - HOUR_MS);
    },
  },
  {
    kind: 'how far the replica is behind',
    must: 'as long as the first link has waited whose time is known',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: wrong });
      await publish(connection, [usageRecord('acme', 2)], { nowMs: right });
      expect(lagOf(connection, 0, right + 10 * MINUTE_MS)).toEqual({ links: 2, seconds: 600 });
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

function lastEntryOf(connection: LedgerConnection, runKey: number): number {
  const last = 'SELECT first_entry_id + entries - 1 FROM runs WHERE run_key = ?';
  return connection.prepare(last).pluck().get(runKey) as number;
}
