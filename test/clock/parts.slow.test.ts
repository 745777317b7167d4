import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, vi } from 'vitest';
import { focusSchema } from '../../src/config/schema/copies.ts';
import type { ExportConfig } from '../../src/config/types.ts';
import { isoTime } from '../../src/core/clock.ts';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/core/logger.ts';
import type { PeriodicTask } from '../../src/core/periodic-task.ts';
import { startBackupSchedule } from '../../src/daemon/backup/backup-schedule.ts';
import { startExportSchedule } from '../../src/daemon/exports/export-schedule.ts';
import { createReportMaker } from '../../src/daemon/http/reports/report-maker.ts';
import { QueuedJobs } from '../../src/daemon/job-handlers.ts';
import { PublishWatch } from '../../src/daemon/watches/publish-watch.ts';
import { createSlotHistory } from '../../src/freshness/schedules.ts';
import { failRun } from '../../src/ledger/journal/runs/fail-run.ts';
import { openReader } from '../../src/ledger/store/file/open.ts';
import type { SyncJob } from '../../src/queue/jobs.ts';
import { startScheduler } from '../../src/queue/scheduler.ts';
import { begin, openQueue, privateRedis } from '../queue/support.ts';
import { eventually } from '../support/eventually.ts';
import { beginRun, openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type TestClock, testClock } from '../support/time/test-clock.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';
import { type Jump, playTable, shownBy } from './jumps.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const logger = createLogger({ level: 'silent' });

playTable([
  {
    kind: 'scheduled backups',
    must: 'at the next slot, and the one of the future is the first to go',
    async play(jump) {
      const { folder, ledgerPath } = await filledLedger('backups');
      const start = (clock: TestClock) =>
        startBackupSchedule({
          reportHealth: async () => undefined,
          ledgerPath,
          backup: { cron: '0 * * * *', timezone: 'UTC', keep: 2, folder, to: null },
          clock,
          logger,
        });
      await filesOf(jump, start, () => readdirSync(folder).length);
      const { right } = shownBy(jump);
      const made = (ms: number) => `ledger-${isoTime(ms).replaceAll(/[-:]/g, '').slice(0, 15)}Z.db`;
      expect(readdirSync(folder)).toEqual([made(right + HOUR_MS), made(right + 2 * HOUR_MS)]);
    },
  },
  {
    kind: 'scheduled exports',
    must: 'at the next slot, also across a restart, and the one of the future is the first to go',
    async play(jump) {
      const { folder, ledgerPath } = await filledLedger('exports');
      const wanted: ExportConfig = {
        ...{ name: 'usage', view: 'usage', format: 'csv', cron: '0 * * * *', period: null },
        ...{ timezone: 'UTC', workspaceId: null, folder, to: null, keep: 2 },
      };
      const config = {
        ...{ exports: [wanted], focus: focusSchema.parse({}), ledger: { path: ledgerPath, retentionDays: 400 } },
        workspaces: [{ id: 'ws-1' }] as never,
      };
      const rest = { closesAfter: () => [], reportHealth: async () => undefined, logger };
      const start = (clock: TestClock) => startExportSchedule({ config, clock, ...rest });
      const files = () => readdirSync(folder).filter((name) => !name.startsWith('.'));
      await filesOf(jump, start, () => files().length);
      const { right } = shownBy(jump);
      const made = (ms: number) => `usage-${isoTime(ms).replaceAll(/[-:]/g, '').slice(0, 15)}Z.csv`;
      expect(files()).toEqual([made(right + HOUR_MS), made(right + 2 * HOUR_MS)]);
    },
  },
  {
    kind: 'syncs that are spread over the time after their tick',
    must: 'within the spread, on a Redis that keeps jobs',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const ids = Array.from({ length: 20 }, (_, index) => `ws-${index}`);
      const clock = createVirtualClock(wrong);
      // BullMQ asks for the time by itself.
      vi.useFakeTimers({ toFake: ['Date'], now: wrong });
      onTestFinished(() => void vi.useRealTimers());
      const { target } = await privateRedis(logger, temporaryFolder());
      const begun = new Set<string>();
      const handle = async ({ workspaceId }: SyncJob) => void begun.add(workspaceId);
      const queue = await openQueue({ target, logger, handle });
      const nothing = { doneSlot: null, failures: 0, failedSlot: null, failedAtMs: null, refused: false };
      const scheduler = startScheduler({
        ...{ clock, logger, ticks: false, onRedisBack: () => () => undefined },
        entries: ids.map((key) => ({ key, cron: '0 * * * *', timezone: 'UTC' })),
        history: ({ key }) => ({ ...nothing, doneSlot: begun.has(key) ? isoTime(clock.now()) : null }),
        enqueue: ({ key }, due) => queue.addSync({ workspaceId: key, kind: 'scheduled', ...due }),
      });
      onTestFinished(() => scheduler.stop());
      await scheduler.catchUp();
      begin(queue);
      clock.step(right - wrong);
      for (let seconds = 0; seconds <= 40; seconds += 1) {
        vi.setSystemTime(clock.now());
        await clock.advance(1000);
      }
      await eventually(() => expect(begun.size).toBe(ids.length));
    },
  },
  {
    kind: 'the rest of a workspace that is refused',
    must: 'counts for a daemon that a clock ahead has started, too',
    play(jump) {
      const { wrong, right } = shownBy(jump);
      const { path, connection } = openLedger();
      const reader = openReader(path);
      onTestFinished(() => reader.close());
      const refuse = (nowMs: number): void => {
        const { run } = beginRun(connection, { kind: 'scheduled', slot: isoTime(nowMs), nowMs });
        const failure = { status: 'failed', code: 'unauthorized', message: '', pages: 0, records: 0 } as const;
        failRun(connection, run, failure, nowMs);
      };
      refuse(wrong);
      const historyOf = createSlotHistory(reader.connection, testClock(wrong));
      const refused = () => historyOf({ workspaceId: 'ws-1', kind: 'scheduled' }).refused;
      expect(refused()).toBe(false);
      refuse(right);
      expect(refused()).toBe(true);
    },
  },
  {
    kind: 'reports that are kept for a minute',
    must: 'are made anew',
    async play(jump) {
      const { wrong, right } = shownBy(jump);
      const { ledgerPath } = await filledLedger('pages');
      const maker = createReportMaker({ ledgerPath, head: () => 'the same' });
      onTestFinished(() => maker.stop());
      const report = (nowMs: number) => maker.report({ workspaceId: 'ws-1', period: undefined, budgets: [], nowMs });
      const [early, late] = [report(wrong), report(right)];
      expect(late).not.toBe(early);
      expect(report(right + MINUTE_MS - 1)).toBe(late);
      await Promise.all([early, late]);
    },
  },
  {
    kind: 'jobs that wait for their place',
    must: 'are not used up by an attempt of the future',
    play(jump) {
      const { wrong, right } = shownBy(jump);
      const clock = testClock(right);
      const waits = new QueuedJobs(clock);
      waits.enqueued('ws-1', right);
      expect(waits.since('ws-1', wrong)).toBe(right);
      clock.advance(MINUTE_MS);
      expect(waits.since('ws-1', clock.now())).toBeNull();
    },
  },
  {
    kind: 'staleness of the copy in Postgres',
    must: 'as long after the last publish as ever, and not at a jump',
    async play(jump) {
      const { before, wrong, right } = shownBy(jump);
      const clock = testClock(before);
      const away = new AppError('publish_unreachable', 'nobody answers', { retryable: true });
      const watch = new PublishWatch({
        connection: openLedger().connection,
        clock,
        logger,
        staleMs: 30 * MINUTE_MS,
        unreadyWhenStale: false,
        publish: () => Promise.reject(away),
        reportHealth: async () => undefined,
      });
      onTestFinished(() => watch.stop());
      clock.set(wrong);
      await watch.publish().catch(() => undefined);
      expect(watch.health().stale).toBe(false);
      clock.set(right);
      clock.advance(31 * MINUTE_MS);
      await watch.publish().catch(() => undefined);
      expect(watch.health().stale).toBe(true);
    },
  },
]);

async function filledLedger(name: string): Promise<{ folder: string; ledgerPath: string }> {
  const { path: ledgerPath, connection } = openLedger();
  await publish(connection, [usageRecord('acme', 100)]);
  const folder = join(dirname(ledgerPath), name);
  mkdirSync(folder, { mode: 0o700 });
  return { folder, ledgerPath };
}

/** One file while the clock is wrong, one an hour later by the same daemon, and one by another that has been started since. */
async function filesOf(jump: Jump, start: (clock: TestClock) => PeriodicTask, files: () => number): Promise<void> {
  const { wrong, right } = shownBy(jump);
  const clock = testClock(wrong);
  const running = start(clock);
  onTestFinished(() => running.stop());
  await running.run();
  expect(files()).toBe(1);
  clock.set(right + HOUR_MS);
  await running.run();
  expect(files()).toBe(2);
  await running.run();
  expect(files()).toBe(2);
  await running.stop();
  clock.advance(HOUR_MS);
  const restarted = start(clock);
  onTestFinished(() => restarted.stop());
  await restarted.run();
}
