import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../queue/support.ts';
import { startFailingRedis } from '../outages/redis-server.ts';
import { startPlayedDaemon } from './played-daemon.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** Catching up looks every ten seconds; the rest is the run. */
const CAUGHT_UP_MS = 30 * SECOND_MS;

const ROLLOVERS = Number(process.env.CLOCK_ROLLOVERS ?? 24);
const SHIFTS = Number(process.env.CLOCK_SHIFTS ?? 12);
const JUMPS = Number(process.env.CLOCK_JUMPS ?? 20);

test(`${ROLLOVERS} months roll over, and each first run reads the month that has just ended, too`, async () => {
  const daemon = await startPlayedDaemon(Date.UTC(2026, 0, 31, 23, 59, 30), await startedRedis());
  onTestFinished(() => daemon.stop());
  for (let month = 1; month <= ROLLOVERS; month += 1) {
    const rolloverMs = Date.UTC(2026, month, 1);
    if (month > 1) daemon.clock.set(rolloverMs - 15 * SECOND_MS);
    const run = await daemon.runOfSlot(rolloverMs, 15 * SECOND_MS + CAUGHT_UP_MS);
    const ended = new Date(rolloverMs - 1).toISOString().slice(0, 7);
    const opened = new Date(rolloverMs).toISOString().slice(0, 7);
    expect(run.to_period).toBe(opened);
    expect([run.from_period === null || String(run.from_period) <= ended, ended]).toEqual([true, ended]);
  }
  expect(daemon.slotsDoneTwice()).toEqual([]);
});

/** The hours at which clocks are changed in Berlin and New York, in UTC. */
const CHANGES = [2026, 2027, 2028].flatMap((year) => [
  { zone: 'America/New_York', atMs: sundayOf(year, 2, 2) + 7 * HOUR_MS },
  { zone: 'Europe/Berlin', atMs: lastSundayOf(year, 2) + HOUR_MS },
  { zone: 'Europe/Berlin', atMs: lastSundayOf(year, 9) + HOUR_MS },
  { zone: 'America/New_York', atMs: sundayOf(year, 10, 1) + 6 * HOUR_MS },
]);

test.each(['Europe/Berlin', 'America/New_York'])(
  'clocks that are changed in %s neither lose a slot nor do one twice',
  async (zone) => {
    const changes = CHANGES.filter((change) => change.zone === zone).slice(0, Math.ceil(SHIFTS / 2));
    const daemon = await startPlayedDaemon((changes[0]?.atMs ?? 0) - 20 * SECOND_MS, {
      ...(await startedRedis()),
      TZ: zone,
    });
    onTestFinished(() => daemon.stop());
    for (const { atMs } of changes) {
      daemon.clock.set(atMs - 15 * SECOND_MS);
      await daemon.runOfSlot(atMs - MINUTE_MS, CAUGHT_UP_MS);
      await daemon.runOfSlot(atMs, 15 * SECOND_MS + CAUGHT_UP_MS);
      daemon.clock.set(atMs + HOUR_MS - 5 * SECOND_MS);
      await daemon.runOfSlot(atMs + HOUR_MS, 5 * SECOND_MS + CAUGHT_UP_MS);
    }
    expect(daemon.slotsDoneTwice()).toEqual([]);
  },
);

test(`${JUMPS} jumps of two hours, forth and back: what became due is read once, nothing twice`, async () => {
  const startMs = Date.UTC(2026, 4, 15, 9, 0, 20);
  const daemon = await startPlayedDaemon(startMs, await startedRedis());
  onTestFinished(() => daemon.stop());
  let nowMs = startMs;
  for (let jump = 1; jump <= JUMPS; jump += 1) {
    // Back by two hours, then forth by four: the next due slot is two hours later than any before.
    if (jump % 2 === 0) {
      daemon.clock.set(nowMs - 2 * HOUR_MS);
      // Long enough there to look for what is due.
      await sleep(12 * SECOND_MS);
    }
    nowMs += 2 * HOUR_MS;
    daemon.clock.set(nowMs);
    await daemon.runOfSlot(Math.floor(nowMs / MINUTE_MS) * MINUTE_MS, CAUGHT_UP_MS);
  }
  expect(daemon.slotsDoneTwice()).toEqual([]);
});

async function startedRedis(): Promise<{ redisUrl: string }> {
  const redis = await startFailingRedis(await freePort());
  onTestFinished(() => redis.stop());
  return { redisUrl: redis.url };
}

/** Midnight (UTC) of the n-th Sunday of a month, counted from 1. */
function sundayOf(year: number, month: number, nth: number): number {
  const first = new Date(Date.UTC(year, month, 1)).getUTCDay();
  return Date.UTC(year, month, 1 + ((7 - first) % 7) + 7 * (nth - 1));
}

function lastSundayOf(year: number, month: number): number {
  const last = new Date(Date.UTC(year, month + 1, 0));
  return last.getTime() - last.getUTCDay() * 24 * HOUR_MS;
}
