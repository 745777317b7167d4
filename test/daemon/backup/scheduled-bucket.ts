import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { focusSchema } from '../../../src/config/schema/copies.ts';
import type { BackupConfig, ExportConfig } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { startBackupSchedule } from '../../../src/daemon/backup/backup-schedule.ts';
import { startExportSchedule } from '../../../src/daemon/exports/export-schedule.ts';
import { type S3Server, startS3Server } from '../../support/net/s3-server.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { type TestClock, testClock } from '../../support/time/test-clock.ts';

export const MINUTE_MS = 60_000;
export const DAY_MS = 24 * 60 * MINUTE_MS;

interface Scheduled {
  folder: string;
  server: S3Server;
  clock: TestClock;
  lines: { level: string; msg: string; [field: string]: unknown }[];
  told: (string | null)[];
  startBackups(more?: Partial<BackupConfig>): PeriodicTask;
  startExports(): PeriodicTask;
  /** The names of the objects below a prefix. */
  names(prefix: string): string[];
}

/** A ledger with a run, and a bucket for daily backups and exports, of which three stay. */
export async function prepare(records = [usageRecord('a', 100)]): Promise<Scheduled> {
  const { path: ledgerPath, connection } = openLedger();
  await publish(connection, records);
  const server = await startS3Server({ now: () => Number.NaN, pageSize: 2 });
  const folder = join(dirname(ledgerPath), 'work');
  const clock = testClock();
  const lines: Scheduled['lines'] = [];
  const told: Scheduled['told'] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const reportHealth = async (detail: string | null) => void told.push(detail);
  const started = (schedule: PeriodicTask): PeriodicTask => {
    onTestFinished(() => schedule.stop());
    return schedule;
  };
  const wanted: ExportConfig = {
    name: 'usage',
    view: 'usage',
    format: 'csv',
    cron: '0 6 * * *',
    timezone: 'UTC',
    period: null,
    workspaceId: null,
    folder,
    to: server.place('exports/'),
    keep: 3,
  };
  return {
    folder,
    server,
    clock,
    lines,
    told,
    startBackups(more = {}) {
      const backup = { cron: '0 2 * * *', timezone: 'UTC', keep: 3, folder, to: server.place('ledger-1/'), ...more };
      return started(startBackupSchedule({ ledgerPath, backup, reportHealth, clock, logger }));
    },
    startExports() {
      const config = {
        exports: [wanted],
        focus: focusSchema.parse({}),
        ledger: { path: ledgerPath, retentionDays: 400 },
        workspaces: [{ id: 'ws-1' }] as never,
      };
      return started(startExportSchedule({ config, closesAfter: () => [], reportHealth, clock, logger }));
    },
    names: (prefix) => [...server.objects.keys()].filter((key) => key.startsWith(prefix)).sort(),
  };
}
