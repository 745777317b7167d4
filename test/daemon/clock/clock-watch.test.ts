import { expect, onTestFinished, test } from 'vitest';
import { evaluateJob } from '../../../src/alerts/evaluate/evaluate-self.ts';
import { checkTimes } from '../../../src/commands/doctor/check-ledger.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { startClockWatch } from '../../../src/daemon/upkeep.ts';
import { timesAhead } from '../../../src/ledger/journal/times-ahead.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';

const HOUR_MS = 3_600_000;

test('times to come are said once, in the log, by an alert and by doctor, until they have come', async () => {
  const { path, connection } = openLedger();
  const clock = createVirtualClock(NOON);
  const lines: { msg: string }[] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const tell = async (detail: string | null): Promise<void> => {
    evaluateJob(connection, { job: 'clock', detail }, clock.now());
  };
  const alerts = () =>
    connection.prepare("SELECT state FROM finance_alerts WHERE cause = 'clock' AND rule = 'job_failed'").pluck().all();
  await publish(connection, [usageRecord('acme', 10)], { nowMs: NOON });
  const watch = startClockWatch({ timesAhead: (nowMs) => timesAhead(connection, nowMs), tell, clock, logger });
  onTestFinished(() => watch.stop());
  await clock.advance(5 * 60_000);
  expect([lines, alerts(), checkTimes(path, clock.now())]).toEqual([[], [], []]);

  await publish(connection, [usageRecord('acme', 11)], { nowMs: NOON + 9 * HOUR_MS });
  await clock.advance(5 * 60_000);
  expect(lines.map(({ msg }) => msg)).toEqual(['the ledger holds times to come']);
  expect(alerts()).toEqual(['firing']);
  expect(checkTimes(path, clock.now())).toMatchObject([
    {
      check: 'clock',
      status: 'warn',
      message: expect.stringContaining('1 run or close of the ledger has a time to come'),
    },
  ]);

  await clock.advance(9 * HOUR_MS);
  expect(alerts()).toEqual(['resolved']);
  expect(checkTimes(path, clock.now())).toEqual([]);
});

test('what a daemon has told whose clock was behind, and which has stopped, another one ends', async () => {
  const { connection } = openLedger();
  const clock = createVirtualClock(NOON);
  const tell = async (detail: string | null): Promise<void> => {
    evaluateJob(connection, { job: 'clock', detail }, clock.now());
  };
  const state = () =>
    connection.prepare("SELECT state FROM finance_alerts WHERE cause = 'clock' AND rule = 'job_failed'").pluck().get();
  const logger = createLogger({ destination: { write: () => undefined } });
  const options = { tell, clock, logger };
  await publish(connection, [usageRecord('acme', 10)], { nowMs: NOON });
  const right = startClockWatch({ ...options, timesAhead: (nowMs) => timesAhead(connection, nowMs) });
  onTestFinished(() => right.stop());
  await clock.advance(60_000);
  const behind = startClockWatch({ ...options, timesAhead: (nowMs) => timesAhead(connection, nowMs - 9 * HOUR_MS) });
  await clock.advance(60_000);
  await behind.stop();
  expect(state()).toBe('firing');

  await clock.advance(10 * 60_000);
  expect(state()).toBe('resolved');
});

test('what a daemon has ended whose clock was ahead, and which has stopped, another one tells again', async () => {
  const { connection } = openLedger();
  const clock = createVirtualClock(NOON);
  const tell = async (detail: string | null): Promise<void> => {
    evaluateJob(connection, { job: 'clock', detail }, clock.now());
  };
  const state = () =>
    connection.prepare("SELECT state FROM finance_alerts WHERE cause = 'clock' AND rule = 'job_failed'").pluck().get();
  const lines: string[] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line).msg) } });
  const options = { tell, clock, logger };
  await publish(connection, [usageRecord('acme', 10)], { nowMs: NOON + 9 * HOUR_MS });
  const right = startClockWatch({ ...options, timesAhead: (nowMs) => timesAhead(connection, nowMs) });
  onTestFinished(() => right.stop());
  await clock.advance(60_000);
  const ahead = startClockWatch({ ...options, timesAhead: (nowMs) => timesAhead(connection, nowMs + 9 * HOUR_MS) });
  await clock.advance(60_000);
  await ahead.stop();
  expect(state()).toBe('resolved');

  await clock.advance(10 * 60_000);
  expect(state()).toBe('firing');
  expect(lines).toEqual(['the ledger holds times to come']);
});
