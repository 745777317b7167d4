import { describe, expect, test } from 'vitest';
import { findSummaryTimes } from '../../src/alerts/pipeline/route.ts';
import { latestTime, timesAfter } from '../../src/core/cron.ts';
import { ALWAYS, activeUntilMs, isActiveAt } from '../../src/core/time-intervals.ts';
import { formatLocalTime, isTimeZone, localDay } from '../../src/core/time-zone.ts';
import { startScheduler } from '../../src/queue/scheduler.ts';
import { dueSlot } from '../../src/queue/slots.ts';
import { recordingLogger } from '../queue/support.ts';
import { createVirtualClock } from '../support/time/virtual-clock.ts';
import { changesOf, type WallMinute, wallMinutes, ZONES } from '../support/time/wall-clock.ts';

const HOUR_MS = 3_600_000;
const iso = (ms: number): string => new Date(ms).toISOString();

/** The schedules under test, as sets of minutes, hours and a weekday. `null`: every one. */
const CRONS: { cron: string; minutes: number[]; hours: number[] | null; weekday: number | null }[] = [
  { cron: '30 2 * * *', minutes: [30], hours: [2], weekday: null },
  { cron: '0 2 * * *', minutes: [0], hours: [2], weekday: null },
  { cron: '10 2 * * 0', minutes: [10], hours: [2], weekday: 0 },
  { cron: '45 1 * * *', minutes: [45], hours: [1], weekday: null },
  { cron: '30 0 * * *', minutes: [30], hours: [0], weekday: null },
  { cron: '59 23 * * *', minutes: [59], hours: [23], weekday: null },
  { cron: '*/15 2 * * *', minutes: [0, 15, 30, 45], hours: [2], weekday: null },
  { cron: '10,40 1-3 * * *', minutes: [10, 40], hours: [1, 2, 3], weekday: null },
  { cron: '0 */2 * * *', minutes: [0], hours: [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22], weekday: null },
  { cron: '*/15 * * * *', minutes: [0, 15, 30, 45], hours: null, weekday: null },
  { cron: '7 * * * *', minutes: [7], hours: null, weekday: null },
];

/**
 * The slots of a schedule by the rule of docs/operate.md: a named time runs when the clock first shows it or, if it never
 * does, when the clock first shows a later one; a schedule for every hour runs whenever the clock shows a matching minute.
 */
function slotsByRule(shown: readonly WallMinute[], { minutes, hours, weekday }: (typeof CRONS)[number]): number[] {
  if (hours === null) return shown.filter(({ time }) => minutes.includes(Number(time.slice(3)))).map(({ ms }) => ms);
  const days = [...new Set(shown.map(({ day }) => day))].filter(
    (day) => weekday === null || new Date(`${day}T00:00:00Z`).getUTCDay() === weekday,
  );
  const two = (value: number): string => String(value).padStart(2, '0');
  const named = days.flatMap((day) =>
    hours.flatMap((hour) => minutes.map((minute) => `${day} ${two(hour)}:${two(minute)}`)),
  );
  const first = `${shown[0]?.day} ${shown[0]?.time}`;
  const firstShown = new Map<string, number>();
  for (const { ms, day, time } of shown.toReversed()) firstShown.set(`${day} ${time}`, ms);
  const slots = named
    .filter((wanted) => wanted >= first)
    .flatMap((wanted) => {
      return firstShown.get(wanted) ?? shown.find(({ day, time }) => `${day} ${time}` > wanted)?.ms ?? [];
    });
  return [...new Set(slots)].sort((a, b) => a - b);
}

/** The clock of a zone from the evening before a change to the evening of its day. */
function shownAround(zone: string, day: string): WallMinute[] {
  const known = clocks.get(`${zone} ${day}`);
  if (known !== undefined) return known;
  const noonMs = Date.parse(`${day}T12:00:00Z`);
  const shown = wallMinutes(zone, noonMs - 36 * HOUR_MS, noonMs + 18 * HOUR_MS);
  clocks.set(`${zone} ${day}`, shown);
  return shown;
}

const clocks = new Map<string, WallMinute[]>();

test.each(ZONES)('the oracle sees the changes of $zone on the days of its law', (zone) => {
  expect(changesOf(shownAround(zone.zone, zone.spring))).toEqual(zone.forward === null ? [] : [zone.forward]);
  expect(changesOf(shownAround(zone.zone, zone.autumn))).toEqual(zone.back === null ? [] : [zone.back]);
});

describe.each(ZONES)('a schedule in $zone', ({ zone, spring, autumn }) => {
  test.each(CRONS)('of $cron runs each slot once across both changes of the year', (rule) => {
    for (const day of [spring, autumn]) {
      const shown = shownAround(zone, day);
      const [beginMs = 0, endMs = 0] = [shown[0]?.ms, shown.at(-1)?.ms];
      const expected = slotsByRule(shown, rule).filter((ms) => ms > beginMs);
      const schedule = { cron: rule.cron, timezone: zone };
      const found: number[] = [];
      for (const slotMs of timesAfter(schedule, beginMs)) {
        if (slotMs > endMs) break;
        found.push(slotMs);
      }
      expect(found.map(iso)).toEqual(expected.map(iso));
      const middleMs = beginMs + 34 * HOUR_MS;
      const around = shown.filter(({ ms }) => Math.abs(ms - middleMs) < 16 * HOUR_MS && ms % 1_800_000 === 0);
      for (const { ms } of around) {
        const latest = expected.findLast((slotMs) => slotMs <= ms);
        if (latest !== undefined) expect(latestTime(schedule, ms)).toBe(latest);
      }
    }
  });

  test('is done once for each slot by a process that restarts every 20 minutes', () => {
    for (const day of [spring, autumn]) {
      const shown = shownAround(zone, day);
      const beginMs = shown[0]?.ms ?? 0;
      for (const rule of CRONS.slice(0, 4)) {
        const schedule = { cron: rule.cron, timezone: zone };
        const checks = shown.map(({ ms }) => ms).filter((ms) => (ms - beginMs) % 1_200_000 === 0);
        let doneSlot = iso(beginMs);
        const runs: string[] = [];
        for (const checkMs of checks) {
          const due = dueSlot(schedule, doneSlot, checkMs);
          if (due === null) continue;
          runs.push(due);
          doneSlot = due;
        }
        const expected = slotsByRule(shown, rule).filter((ms) => ms > beginMs && ms <= (checks.at(-1) ?? 0));
        expect(runs).toEqual(expected.map(iso));
      }
    }
  });

  test('has one daily summary for each day, at the hour of its clock', () => {
    for (const day of [spring, autumn]) {
      for (const digestHour of [0, 1, 2, 3, 23]) {
        const shown = shownAround(zone, day);
        const [beginMs = 0, endMs = 0] = [shown[0]?.ms, shown.at(-1)?.ms];
        const rule = { cron: '', minutes: [0], hours: [digestHour], weekday: null };
        const expected = slotsByRule(shown, rule).filter((ms) => ms > beginMs);
        const found: number[] = [];
        for (let { nextMs } = findSummaryTimes({ digestHour, timezone: zone }, beginMs); nextMs <= endMs; ) {
          found.push(nextMs);
          const slot = findSummaryTimes({ digestHour, timezone: zone }, nextMs);
          expect(slot.latestMs).toBe(nextMs);
          nextMs = slot.nextMs;
        }
        expect(found.map(iso)).toEqual(expected.map(iso));
      }
    }
  });

  test('mutes while its clock shows a time inside the silence', () => {
    const silences = [
      { hours: '02:00-03:00', isInside: ({ time }: WallMinute) => time >= '02:00' && time < '03:00' },
      { hours: '01:30-02:15', isInside: ({ time }: WallMinute) => time >= '01:30' && time < '02:15' },
      { hours: '22:00-06:00', isInside: ({ time }: WallMinute) => time >= '22:00' || time < '06:00' },
      { weekdays: 'sun', isInside: ({ weekday }: WallMinute) => weekday === 0 },
    ];
    for (const day of [spring, autumn]) {
      const shown = shownAround(zone, day);
      for (const { isInside, ...given } of silences) {
        const times = { ...ALWAYS, ...given, timeZone: zone };
        const quarters = shown.filter(({ ms }) => ms % 900_000 === 0);
        for (const [index, quarter] of quarters.entries()) {
          expect([iso(quarter.ms), isActiveAt(times, quarter.ms)]).toEqual([iso(quarter.ms), isInside(quarter)]);
          const end = quarters.slice(index + 1).find((later) => !isInside(later));
          if (!isInside(quarter) || end === undefined) continue;
          expect(activeUntilMs(times, quarter.ms, Number.MAX_SAFE_INTEGER)).toBe(end.ms);
        }
      }
    }
  });
});

test('a daemon that restarts in the middle of the repeated hour does not run its slot again', async () => {
  const schedule = { key: 'ws-1', cron: '30 2 * * *', timezone: 'Europe/Berlin' };
  // 02:20 in Berlin for the first time; the clock goes back at 01:00 UTC.
  const clock = createVirtualClock(Date.parse('2026-10-25T00:20:00Z'));
  const runs: string[] = [];
  const start = () =>
    startScheduler({
      ...{ entries: [schedule], clock, ticks: false, logger: recordingLogger().logger },
      onRedisBack: () => () => undefined,
      history: () => ({
        doneSlot: runs.at(-1) ?? '2026-10-24T00:30:00.000Z',
        ...{ failures: 0, failedSlot: null, failedAtMs: null, refused: false },
      }),
      enqueue: async (_entry, { slot }) => void runs.push(slot),
    });
  for (let restart = 0; restart < 24; restart += 1) {
    const scheduler = start();
    await scheduler.catchUp();
    await clock.advance(5 * 60_000);
    await scheduler.stop();
  }
  expect(iso(clock.now())).toBe('2026-10-25T02:20:00.000Z');
  expect(runs).toEqual(['2026-10-25T00:30:00.000Z']);
});

test.each([
  ['2026-10-25T00:30:00.000Z', 'Europe/Berlin', '2026-10-25 02:30 UTC+2', '2026-10-25'],
  ['2026-10-25T01:30:00.000Z', 'Europe/Berlin', '2026-10-25 02:30 UTC+1', '2026-10-25'],
  ['2026-03-31T23:30:00.000Z', 'UTC', '2026-03-31 23:30 UTC', '2026-03-31'],
  ['2026-04-01T02:00:00.000Z', 'America/New_York', '2026-03-31 22:00 UTC-4', '2026-03-31'],
  ['2026-01-31T14:00:00.000Z', 'Australia/Lord_Howe', '2026-02-01 01:00 UTC+11', '2026-02-01'],
  ['2026-07-01T00:00:00.000Z', 'Australia/Lord_Howe', '2026-07-01 10:30 UTC+10:30', '2026-07-01'],
  ['2026-07-01T18:20:59.999Z', 'Asia/Kathmandu', '2026-07-02 00:05 UTC+5:45', '2026-07-02'],
  ['2026-01-01T02:00:00.000Z', 'America/St_Johns', '2025-12-31 22:30 UTC-3:30', '2025-12-31'],
])('%s is shown in %s as %s', (at, zone, time, day) => {
  expect([formatLocalTime(at, zone), localDay(at, zone)]).toEqual([time, day]);
});

test('only names of zones are zones', () => {
  expect(['UTC', 'Europe/Berlin', 'America/Port-au-Prince'].map(isTimeZone)).toEqual([true, true, true]);
  expect(['', 'Mars/Base', '+01:00', 'Berlin', 'UTC+1'].map(isTimeZone)).toEqual([false, false, false, false, false]);
});
