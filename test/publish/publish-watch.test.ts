import { expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { createLogger } from '../../src/core/logger.ts';
import { PublishWatch } from '../../src/daemon/watches/publish-watch.ts';
import type { PublishReport } from '../../src/publish/publish-ledger.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';
import { rejection } from '../support/rejection.ts';
import { NOON, type TestClock, testClock } from '../support/time/test-clock.ts';
import { createVirtualClock, type VirtualClock } from '../support/time/virtual-clock.ts';

const MINUTE_MS = 60_000;

interface Settings {
  unreadyWhenStale?: boolean;
  /** In place of the test's clock, which stands still. */
  time?: VirtualClock;
}

interface Played {
  watch: PublishWatch;
  clock: TestClock;
  told: (string | null)[];
  connection: ReturnType<typeof openLedger>['connection'];
}

function play(
  publishOnce: (signal: AbortSignal) => Promise<PublishReport>,
  { unreadyWhenStale = false, time }: Settings = {},
): Played {
  const clock = testClock();
  const { connection } = openLedger();
  const told: (string | null)[] = [];
  const watch = new PublishWatch({
    ...{
      connection,
      clock: time ?? clock,
      ...{ staleMs: 30 * MINUTE_MS, unreadyWhenStale },
      logger: createLogger({ level: 'silent', redact: (text) => text }),
    },
    publish: publishOnce,
    reportHealth: async (detail) => void told.push(detail),
  });
  onTestFinished(() => watch.stop());
  return { watch, clock, told, connection };
}

const reportTo = (to: number): PublishReport => {
  return { from: 0, to, headDigest: '', rows: 1, divergence: null, differences: [] };
};
const away = () => Promise.reject(new AppError('publish_unreachable', 'nobody answers', { retryable: true }));

test('the alert comes when something has waited for too long, and ends with the next publish', async () => {
  let answer: () => Promise<PublishReport> = away;
  const { watch, clock, told } = play(() => answer());
  await rejection(watch.publish());
  clock.advance(29 * MINUTE_MS);
  await watch.reportHealth();
  expect(told).toEqual([]);
  clock.advance(2 * MINUTE_MS);
  await rejection(watch.publish());
  await watch.reportHealth();
  expect(told).toEqual(['nothing published for 31 minutes: nobody answers']);
  expect(watch.health()).toMatchObject({ stale: true, fault: { code: 'publish_unreachable' } });
  answer = async () => reportTo(0);
  await watch.publish();
  await watch.reportHealth();
  await watch.reportHealth();
  expect(told.slice(1)).toEqual([null]);
});

test('a process that was frozen tells nobody that it is late before it has tried again', async () => {
  let answer: () => Promise<PublishReport> = away;
  const { watch, clock, told } = play(() => answer());
  await rejection(watch.publish());
  answer = async () => reportTo(0);
  clock.advance(60 * MINUTE_MS);
  const telling = watch.reportHealth();
  expect(watch.health().stale).toBe(false);
  await telling;
  await watch.publish();
  await watch.reportHealth();
  expect(told).toEqual([null]);
});

test('a server that is away is told of when a try has failed that began late', async () => {
  const time = createVirtualClock(NOON);
  const { told } = play(away, { time });
  await time.advance(30 * MINUTE_MS);
  expect(told).toEqual([]);
  await time.advance(6 * MINUTE_MS);
  expect(told[0]).toMatch(/^nothing published for 3[1-6] minutes: nobody answers$/);
});

test('an alert that a daemon which died has left open ends once the next one has published', async () => {
  let answer: () => Promise<PublishReport> = away;
  const { watch, told } = play(() => answer());
  await rejection(watch.publish());
  await watch.reportHealth();
  expect(told).toEqual([]);
  answer = async () => reportTo(0);
  await watch.publish();
  await watch.reportHealth();
  await watch.reportHealth();
  expect(told).toEqual([null]);
});

test('a server that hangs is as late as one that is away, and does not keep a stop waiting', async () => {
  const ends: ((error: Error) => void)[] = [];
  const hang = (signal: AbortSignal) =>
    new Promise<PublishReport>((_, reject) => {
      ends.push(reject);
      signal.addEventListener('abort', () => reject(new AppError('publish_unreachable', 'stopped')));
    });
  const { watch, clock } = play(hang);
  const stale: boolean[] = [];
  for (const _ of [11, 22, 33, 44]) {
    const publishing = rejection(Promise.all([watch.publish(), watch.publish()]));
    clock.advance(11 * MINUTE_MS);
    ends.at(-1)?.(new AppError('publish_unreachable', 'no answer', { retryable: true }));
    expect(await publishing).toMatchObject({ code: 'publish_unreachable' });
    stale.push(watch.health().stale);
  }
  expect([ends.length, stale]).toEqual([4, [false, false, false, true]]);
  const last = rejection(watch.publish());
  await watch.stop();
  expect(await last).toMatchObject({ message: 'stopped' });
});

test('a process that was frozen while it published knows only by the next try whether that is late', async () => {
  const ends: ((error: Error) => void)[] = [];
  const { watch, clock } = play(() => new Promise<PublishReport>((_, reject) => ends.push(reject)));
  const stale: boolean[] = [];
  for (const minutes of [60, 0]) {
    const publishing = rejection(watch.publish());
    clock.advance(minutes * MINUTE_MS);
    ends.at(-1)?.(new AppError('publish_unreachable', 'no answer', { retryable: true }));
    await publishing;
    stale.push(watch.health().stale);
  }
  expect(stale).toEqual([false, true]);
});

test('what is written is published within seconds, and a server that is away is asked again after a growing wait', async () => {
  const time = createVirtualClock(NOON);
  const asked: number[] = [];
  let answer: () => Promise<PublishReport> = away;
  const { connection } = play(
    () => {
      asked.push(time.monotonic());
      return answer();
    },
    { time },
  );
  await time.advance(60_000);
  expect(asked).toEqual([2_000, 4_000, 8_000, 16_000, 32_000]);
  answer = async () => reportTo(1);
  await time.advance(5 * MINUTE_MS);
  const before = asked.length;
  await time.advance(60_000);
  expect(asked).toHaveLength(before);
  await publish(openLedger(connection.name).connection, [usageRecord('acme', 10)]);
  await time.advance(2_000);
  expect(asked).toHaveLength(before + 1);
});

test('a late replica makes the daemon unready only where the configuration says so', async () => {
  for (const unreadyWhenStale of [false, true]) {
    const { watch, clock } = play(away, { unreadyWhenStale });
    await rejection(watch.publish());
    expect(watch.health()).toMatchObject({ stale: false, unready: false });
    clock.advance(31 * MINUTE_MS);
    await rejection(watch.publish());
    expect(watch.health()).toMatchObject({ stale: true, unready: unreadyWhenStale });
  }
});
