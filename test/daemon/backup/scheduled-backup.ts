import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { startBackupSchedule } from '../../../src/daemon/backup/backup-schedule.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { type TestClock, testClock } from '../../support/time/test-clock.ts';

export interface ScheduledBackup {
  folder: string;
  ledgerPath: string;
  clock: TestClock;
  lines: { level: string; msg: string; [field: string]: unknown }[];
  /** What the alert about backups was told to say. */
  told: (string | null)[];
  start(): PeriodicTask;
}

/** A ledger with a run, to be backed up daily at 02:00 into a folder beside it that keeps three. */
export async function prepareBackup(): Promise<ScheduledBackup> {
  const { path: ledgerPath, connection } = openLedger();
  await publish(connection, [usageRecord('a', 100)]);
  const folder = join(dirname(ledgerPath), 'backups');
  const clock = testClock();
  const lines: ScheduledBackup['lines'] = [];
  const told: ScheduledBackup['told'] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const start = (): PeriodicTask => {
    const schedule = startBackupSchedule({
      ledgerPath,
      backup: { cron: '0 2 * * *', timezone: 'UTC', keep: 3, folder, to: null },
      reportHealth: async (detail) => void told.push(detail),
      clock,
      logger,
    });
    onTestFinished(() => schedule.stop());
    return schedule;
  };
  return { folder, ledgerPath, clock, lines, told, start };
}
