import { expect, onTestFinished, test } from 'vitest';
import { evaluateJob } from '../../../src/alerts/evaluate-system.ts';
import { createLogger } from '../../../src/core/logger.ts';
import { startClockWatch } from '../../../src/daemon/watches/clock-watch.ts';
import { findTimesAhead } from '../../../src/ledger/journal/times-ahead.ts';
import { checkStoredTimes } from '../../../src/operations/doctor/check-ledger.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { notifying } from '../../support/run/real-run.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';

const HOUR_MS = 3_600_000;

/** A ledger, what tells of its clock, and what has been told. */
function clockWorld() {
  const { path, connection } = openLedger();
  const clock = createVirtualClock(NOON);
  const lines: string[] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line).msg) } });
  const reportHealth = async (detail: string | null): Promise<void> => {
    evaluateJob(connection, { job: 'clock', detail }, notifying(connection, clock.now()));
  };
  const states = () =>
    connection.prepare("SELECT state FROM finance_alerts WHERE cause = 'clock' AND rule = 'job_failed'").pluck().all();
  /** Of a daemon whose clock is ahead by so much. */
  const start = (aheadMs = 0) => {
    const options = {
      reportHealth,
      clock,
      logger,
      findTimesAhead: (nowMs: number) => findTimesAhead(connection, nowMs + aheadMs),
    };
    const watch = startClockWatch(options);
    onTestFinished(() => watch.stop());
    return watch;
  };
  return { path, connection, clock, lines, states, start };
}

test('future times are reported once in the log, by an alert and by doctor, until they have passed', async () => {
  const { path, connection, clock, lines, states, start } = clockWorld();
  await publish(connection, [usageRecord('acme', 10)], { nowMs: NOON });
  start();
  await clock.advance(5 * 60_000);
  expect([lines, states(), checkStoredTimes(path, clock.now())]).toEqual([[], [], []]);

  await publish(connection, [usageRecord('acme', 11)], { nowMs: NOON + 9 * HOUR_MS });
  await clock.advance(5 * 60_000);
  expect(lines).toEqual(['the ledger holds times in the future']);
  expect(states()).toEqual(['firing']);
  expect(checkStoredTimes(path, clock.now())).toMatchObject([
    {
      check: 'clock',
      status: 'warn',
      message: expect.stringContaining('1 run or close of the ledger has a time in the future'),
    },
  ]);

  await clock.advance(9 * HOUR_MS);
  expect(states()).toEqual(['resolved']);
  expect(checkStoredTimes(path, clock.now())).toEqual([]);
});

test('a daemon ends the clock alert of a previous daemon with a slow clock', async () => {
  const { connection, clock, states, start } = clockWorld();
  await publish(connection, [usageRecord('acme', 10)], { nowMs: NOON });
  start();
  await clock.advance(60_000);
  const behind = start(-9 * HOUR_MS);
  await clock.advance(60_000);
  await behind.stop();
  expect(states()).toEqual(['firing']);

  await clock.advance(10 * 60_000);
  expect(states()).toEqual(['resolved']);
});

test('a daemon raises the clock alert again that a previous daemon with a fast clock had ended', async () => {
  const { connection, clock, lines, states, start } = clockWorld();
  await publish(connection, [usageRecord('acme', 10)], { nowMs: NOON + 9 * HOUR_MS });
  start();
  await clock.advance(60_000);
  const ahead = start(9 * HOUR_MS);
  await clock.advance(60_000);
  await ahead.stop();
  expect(states()).toEqual(['resolved']);

  await clock.advance(10 * 60_000);
  expect(states()).toEqual(['firing']);
  expect(lines).toEqual(['the ledger holds times in the future']);
});
