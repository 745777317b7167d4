import { expect } from 'vitest';
import { addSilence } from '../../src/alerts/actions.ts';
import { evaluateJob } from '../../src/alerts/evaluate-system.ts';
import { createCachedRunTimes, createRunTimes, RunMoments } from '../../src/alerts/forecast/run-moments.ts';
import { UsageHistory } from '../../src/alerts/forecast/usage-history.ts';
import { simulateDelivery } from '../../src/alerts/outbox/accept-all.ts';
import { findSummaryTimes } from '../../src/alerts/pipeline/route.ts';
import { readSilences } from '../../src/alerts/pipeline/silence.ts';
import type { Judgement } from '../../src/alerts/rules/judgement.ts';
import { advanceAlert, type LifecycleContext } from '../../src/alerts/state/lifecycle.ts';
import { isoTime } from '../../src/core/clock.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { answerWaiting } from '../support/messages.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { listingOf } from '../support/run/listing.ts';
import { notifying, realRun, writerOn } from '../support/run/real-run.ts';
import { NOON } from '../support/time/test-clock.ts';
import { playTable, shownBy } from './jumps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const PENDING = { level: 'likely', severity: 'warning', magnitude: 5n };

playTable([
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
        readSilences(connection, 1, nowMs)({ rule, tenantId: 'acme', period: '2026-03', credits: null }).silence?.id ??
        null;
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
      const at = (nowMs: number): LifecycleContext => ({ nowMs, runKey: 1, seeding: false, waits: () => false });
      const begun = advanceAlert(null, judgement, at(wrong));
      const seen = advanceAlert(begun?.status ?? null, judgement, at(right));
      expect(seen).toMatchObject({ change: null, status: { state: 'pending' } });
      expect(advanceAlert(seen?.status ?? null, judgement, at(right + HOUR_MS))).toMatchObject({ change: 'fired' });
    },
  },
  {
    kind: 'alerts that were told while the clock was ahead',
    must: 'are told again when they begin again, and so are their ends',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: before });
      const reportHealth = (detail: string | null, nowMs: number) => {
        const news = { job: 'export', detail } as const;
        const { due } = evaluateJob(connection, news, notifying(connection, nowMs));
        simulateDelivery(connection, notifying(connection, nowMs));
        return due;
      };
      expect([reportHealth('disk full', wrong), reportHealth(null, wrong + 1)]).toEqual([1, 1]);
      expect([reportHealth('disk full', right + MINUTE_MS), reportHealth(null, right + 2 * MINUTE_MS)]).toEqual([1, 1]);
      expect(reportHealth('disk full', right + 3 * MINUTE_MS)).toBe(1);
    },
  },
  {
    kind: 'summaries',
    must: 'within a day',
    async play(jump) {
      // Nine hours later the daily summary of the next day has been missed, too.
      const { before, wrong, right } = shownBy(jump, NOON + 11.5 * HOUR_MS);
      const { connection } = openLedger();
      await publish(connection, [usageRecord('acme', 1)], { nowMs: before });
      evaluateJob(connection, { job: 'export', detail: 'x' }, notifying(connection, wrong));
      // As what is not urgent waits for the next hour of the digest.
      const dueMs = findSummaryTimes({ digestHour: 8, timezone: 'UTC' }, wrong).nextMs;
      connection.prepare("UPDATE alert_notified SET batch = 'digest', due_at = ?").run(isoTime(dueMs));
      const hours = Array.from({ length: 25 }, (_, hour) => right + hour * HOUR_MS);
      expect(hours.flatMap((nowMs) => answerWaiting(connection, 'accepted', nowMs))).toHaveLength(1);
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
      for (const runTimes of [createRunTimes, createCachedRunTimes]) {
        const moments = new RunMoments(runTimes(connection, 1), wrong + DAY_MS);
        expect(moments.placeOf(wrong + MINUTE_MS)).toMatchObject({
          earlier: { lastEntryId: lastEntryOf(connection, 11) },
        });
        expect(moments.placeOf(right + 1)).toMatchObject({ earlier: { lastEntryId: lastEntryOf(connection, 1) } });
        expect(moments.placeOf(wrong + HOUR_MS)).toMatchObject({
          earlier: { lastEntryId: lastEntryOf(connection, 12) },
        });
      }
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
      const usageHistory = new UsageHistory({ connection, workspaceKey: 1, nowMs: right + DAY_MS });
      expect([1, 2, 3, 4, 5].map((runKey) => usageHistory.endOf(runKey))).toEqual([
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
      const usageHistory = new UsageHistory({ connection, workspaceKey: 1, nowMs: right });
      expect(usageHistory.lastRunMs()).toBe(right - HOUR_MS);
    },
  },
]);

function lastEntryOf(connection: LedgerDb, runKey: number): number {
  const last = 'SELECT first_entry_id + entries - 1 FROM runs WHERE run_key = ?';
  return connection.prepare(last).pluck().get(runKey) as number;
}
