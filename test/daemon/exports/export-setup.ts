import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { evaluateJob } from '../../../src/alerts/evaluate-system.ts';
import { focusSchema } from '../../../src/config/schema/copies.ts';
import type { ExportConfig } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { startExportSchedule } from '../../../src/daemon/exports/export-schedule.ts';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../../src/ledger/journal/charges/commit-close.ts';
import { closePeriod, reopenPeriod } from '../../../src/ledger/journal/close/close-period.ts';
import { listClosesInForce } from '../../../src/ledger/journal/close/closes-in-force.ts';
import { checkExports } from '../../../src/operations/doctor/check-files.ts';
import { answerWaiting, messages } from '../../support/messages.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { notifying } from '../../support/run/real-run.ts';
import { testClock } from '../../support/time/test-clock.ts';

const CARD = { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' };
const HOSTILE = '../../etc/=cmd';

/** A ledger with three months of two tenants, to be exported as `wanted` says into a folder beside it. */
export async function prepare(...wanted: Partial<ExportConfig>[]) {
  const { path: ledgerPath, connection } = openLedger();
  setCards(connection, { cards: [CARD], source: 'import', nowMs: Date.UTC(2026, 0, 1) });
  const records = ['2026-01', '2026-02', '2026-03'].flatMap((period) => [
    ...[usageRecord('acme', 100, period), usageRecord(HOSTILE, 7, period)],
  ]);
  await publish(connection, records);
  const folder = join(dirname(ledgerPath), 'exports');
  const clock = testClock();
  const lines: { level: string; msg: string; [field: string]: unknown }[] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const exports = wanted.map(
    (one): ExportConfig => ({
      ...{ name: 'usage', view: 'usage', format: 'csv', cron: '0 6 * * *', period: null },
      ...{ timezone: 'UTC', workspaceId: null, folder, to: null, keep: 3 },
      ...one,
    }),
  );
  const config = {
    ...{ exports, focus: focusSchema.parse({}), ledger: { path: ledgerPath, retentionDays: 400 } },
    workspaces: [{ id: 'ws-1' }] as never,
  };
  const start = (): PeriodicTask => {
    const closesAfter = (eventSeq: number) => listClosesInForce(connection, eventSeq);
    const reportHealth = async (detail: string | null) => {
      evaluateJob(connection, { job: 'export', detail }, notifying(connection, clock.now()));
    };
    const schedule = startExportSchedule({ config, closesAfter, reportHealth, clock, logger });
    onTestFinished(() => schedule.stop());
    return schedule;
  };
  const request = { workspaceId: 'ws-1', by: 'Ada', note: '', nowMs: clock.now(), force: true, settleHours: 48 };
  const close = (period: string) => closePeriod(connection, { ...request, period }, commitClose);
  const reopen = (period: string) => reopenPeriod(connection, { ...request, period });
  const files = () => readdirSync(folder).filter((name) => !name.startsWith('.'));
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const findings = () => checkExports(config, clock.now()).map(({ subject, status }) => `${subject} ${status}`);
  const alerts = () =>
    connection.prepare("SELECT state FROM finance_alerts WHERE cause = 'export'").pluck().all() as string[];
  const told = () => messages(connection).map(({ payload }) => payload.summary as string);
  /** The receiver takes what waits. */
  const takeAll = () => answerWaiting(connection, 'accepted', clock.now());
  return { ...{ folder, clock, lines, start, close, reopen, files, read, findings, alerts, told, takeAll } };
}
