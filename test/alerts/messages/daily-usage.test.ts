import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { buildDailyUsage, type Reading } from '../../../src/alerts/messages/daily-usage.ts';
import { dayBars, legendOf } from '../../../src/alerts/messages/day-bars.ts';

const DAY_MS = 86_400_000;
const MARCH_MS = Date.UTC(2026, 2, 1);
const FEBRUARY_MS = Date.UTC(2026, 1, 1);
const ALWAYS = () => true;

/** A reading at noon of each day; `perDay` is what is used on it. */
function readings(startMs: number, days: number, perDay: (day: number) => number): Reading[] {
  let credits = 0;
  return Array.from({ length: days }, (_, index) => {
    credits += perDay(index + 1);
    return { atMs: startMs + (index + 0.5) * DAY_MS, credits: BigInt(credits) };
  });
}

function usageAfter(days: number, perDay: (day: number) => number, wasRead: (day: string) => boolean = ALWAYS) {
  const current = readings(MARCH_MS, days, perDay);
  return buildDailyUsage({
    ...{ period: '2026-03', elapsedMs: days * DAY_MS, wasRead },
    current: { readings: current, total: current.at(-1)?.credits ?? null },
    previous: { readings: readings(FEBRUARY_MS, 28, () => 300), total: 8_400n },
  });
}

describe('the daily usage of a tenant', () => {
  it('names the day on which the rate left its usual, and both rates', () => {
    const usage = usageAfter(16, (day) => (day < 9 ? 300 : 1_500));
    expect(usage).toMatchObject({
      since: '2026-03-09',
      usual_daily_credits: 300n,
      recent_daily_credits: 1_500n,
      previous_same_point: 4_800n,
    });
    expect(usage.days.previous).toHaveLength(28);
    expect(usage.days.current.slice(6, 10)).toEqual([2_100n, 2_400n, 3_900n, 5_400n]);
  });

  it('names no day where none stands out', () => {
    const usage = usageAfter(16, (day) => 300 + (day % 3));
    expect(usage).toMatchObject({ since: null, usual_daily_credits: 300n, recent_daily_credits: 301n });
  });

  it('says when a tenant has stopped', () => {
    const usage = usageAfter(16, (day) => (day < 11 ? 300 : 0));
    expect(usage).toMatchObject({ since: '2026-03-11', usual_daily_credits: 300n, recent_daily_credits: 0n });
  });

  it('takes no day for the beginning that has only begun, however much is used in its first hours', () => {
    const current = [...readings(MARCH_MS, 6, () => 300), { atMs: MARCH_MS + 6.1 * DAY_MS, credits: 2_100n }];
    const usage = buildDailyUsage({
      ...{ period: '2026-03', elapsedMs: 6.3 * DAY_MS, wasRead: ALWAYS },
      current: { readings: current, total: 2_100n },
      previous: { readings: readings(FEBRUARY_MS, 28, () => 300), total: 8_400n },
    });
    expect(usage).toMatchObject({ since: null, usual_daily_credits: 300n });
  });

  it('takes no day for the beginning that follows on days that nobody read', () => {
    const usage = usageAfter(
      16,
      (day) => (day < 10 ? 300 : 1_500),
      (day) => day < '2026-03-05' || day > '2026-03-11',
    );
    expect(usage.since).toBeNull();
  });

  it('counts credits of days that nobody read as used evenly, and takes no day of them for the beginning', () => {
    const outage = (day: string) => day < '2026-03-05' || day > '2026-03-08';
    const usage = usageAfter(16, () => 300, outage);
    expect(usage.days.current.slice(3, 9)).toEqual([1_200n, null, null, null, null, 2_700n]);
    expect(usage.since).toBeNull();
  });

  it('takes a month that was read only after its end as used evenly, with nothing at the same point', () => {
    const current = readings(MARCH_MS, 10, () => 1_000);
    const usage = buildDailyUsage({
      ...{ period: '2026-03', elapsedMs: 10 * DAY_MS, wasRead: (day) => day >= '2026-03-01' },
      current: { readings: current, total: 10_000n },
      previous: { readings: [{ atMs: MARCH_MS, credits: 8_400n }], total: 8_400n },
    });
    expect(usage).toMatchObject({
      ...{ since: '2026-03-01', usual_daily_credits: 300n, recent_daily_credits: 1_000n, previous_same_point: null },
    });
    expect(usage.days.previous).toEqual([...Array(27).fill(null), 8_400n]);
  });

  it('draws both months against one scale', () => {
    const { rows, highest } = dayBars(
      '2026-03',
      usageAfter(4, (day) => (day < 3 ? 300 : 2_100)),
    );
    expect(highest).toBe(2_100);
    expect(rows).toEqual([
      { period: '2026-02', bars: '▂'.repeat(28), total: 8_400n, isKnown: true },
      { period: '2026-03', bars: '▂▂██', total: 4_800n, isKnown: true },
    ]);
  });

  it('draws a day without usage, too', () => {
    const { rows } = dayBars(
      '2026-03',
      usageAfter(4, (day) => (day === 2 || day === 3 ? 0 : 2_100)),
    );
    expect(rows[1]?.bars).toBe('█__█');
    expect(legendOf(rows)).toBe('; _ no usage');
  });

  it('explains the marks of a chart, and nothing where it has none', () => {
    const row = { period: '2026-03', total: 1n, isKnown: true } as const;
    expect(legendOf([{ ...row, bars: '▂▂' }])).toBe('');
    expect(
      legendOf([
        { ...row, bars: '··▂' },
        { ...row, bars: '▂_' },
      ]),
    ).toBe('; · unknown; _ no usage');
  });
});

test('the days of a daily usage never lose or invent a credit', () => {
  const amounts = fc.array(fc.integer({ min: 0, max: 1_000_000 }), { minLength: 1, maxLength: 31 });
  fc.assert(
    fc.property(amounts, fc.func(fc.boolean()), (perDay, wasRead) => {
      const usage = usageAfter(perDay.length, (day) => perDay[day - 1] ?? 0, wasRead);
      const total = perDay.reduce((sum, credits) => sum + credits, 0);
      expect(usage.days.current.at(-1)).toBe(BigInt(total));
      expect(usage.days.current).toHaveLength(perDay.length);
    }),
  );
});

test('a lasting change is found on its day, and none in a steady month', () => {
  const worlds = fc.tuple(
    fc.integer({ min: 4, max: 28 }),
    fc.integer({ min: 10, max: 100_000 }),
    fc.integer({ min: 2, max: 9 }),
  );
  fc.assert(
    fc.property(worlds, ([day, rate, times]) => {
      const current = readings(MARCH_MS, 31, (each) => (each < day ? rate : rate * times));
      const previous = readings(FEBRUARY_MS, 28, () => rate);
      const months = {
        ...{ period: '2026-03' as const, elapsedMs: 31 * DAY_MS, wasRead: ALWAYS },
        previous: { readings: previous, total: previous.at(-1)?.credits ?? null },
      };
      const changed = buildDailyUsage({
        ...months,
        current: { readings: current, total: current.at(-1)?.credits ?? null },
      });
      expect(changed).toMatchObject({
        since: `2026-03-${String(day).padStart(2, '0')}`,
        usual_daily_credits: BigInt(rate),
        recent_daily_credits: BigInt(rate * times),
      });
      const steady = readings(MARCH_MS, 31, () => rate);
      const total = steady.at(-1)?.credits ?? null;
      expect(buildDailyUsage({ ...months, current: { readings: steady, total } }).since).toBeNull();
    }),
  );
});

test('a day that has not ended counts once it has more than the day before', () => {
  const usageAt = (today: bigint) => {
    const yesterday = readings(MARCH_MS, 6, () => 20);
    const current = [...yesterday, { atMs: MARCH_MS + 6.3 * DAY_MS, credits: 120n + today }];
    return buildDailyUsage({
      ...{ period: '2026-03', elapsedMs: 6.4 * DAY_MS, wasRead: ALWAYS },
      current: { readings: current, total: 120n + today },
      previous: { readings: readings(FEBRUARY_MS, 28, () => 20), total: 560n },
    });
  };
  expect(usageAt(6_000n)).toMatchObject({
    since: '2026-03-07',
    usual_daily_credits: 20n,
    recent_daily_credits: 6_000n,
  });
  expect(usageAt(15n).since).toBeNull();
  expect(usageAt(0n).since).toBeNull();
});

test('the last day of a month that is over is no change, though it has the rest of the day before', () => {
  const current = readings(MARCH_MS, 31, () => 300);
  const usage = buildDailyUsage({
    ...{ period: '2026-03', elapsedMs: 31 * DAY_MS, wasRead: ALWAYS },
    current: {
      readings: [...current.slice(0, 30), { atMs: MARCH_MS + 31 * DAY_MS - 1, credits: 9_600n }],
      total: 9_600n,
    },
    previous: { readings: readings(FEBRUARY_MS, 28, () => 300), total: 8_400n },
  });
  expect(usage.days.current.slice(-2)).toEqual([9_000n, 9_600n]);
  expect(usage.since).toBeNull();
});

test('a change from next to nothing is named on its day', () => {
  const perDay = (day: number) => (day < 21 ? 0 : day === 21 ? 13 : 2_568);
  const current = readings(MARCH_MS, 23, perDay);
  const usage = buildDailyUsage({
    ...{ period: '2026-03', elapsedMs: 22.9 * DAY_MS, wasRead: ALWAYS },
    current: { readings: current, total: current.at(-1)?.credits ?? null },
    previous: { readings: [], total: null },
  });
  expect(usage).toMatchObject({ since: '2026-03-22', recent_daily_credits: 2_568n, usual_daily_credits: 1n });
});

test('a change of several thousand times is named on its day, not a day before', () => {
  const february = readings(FEBRUARY_MS, 28, (day) => (day === 15 ? 50 : 0));
  const march = readings(MARCH_MS, 3, (day) => [212_543, 56_582, 10][day - 1] ?? 0);
  const usage = buildDailyUsage({
    ...{ period: '2026-03', elapsedMs: 2.6 * DAY_MS, wasRead: ALWAYS },
    current: { readings: march, total: 269_135n },
    previous: { readings: february, total: 50n },
  });
  expect(usage).toMatchObject({ since: '2026-03-01', usual_daily_credits: 2n, recent_daily_credits: 134_563n });
});

test('a change of uneven days is named on the day where it was, not on a higher day before it', () => {
  const uneven = [2_290, 1_614, 2_208, 1_404, 2_690, 4_947, 2_239, 6_482, 3_636, 4_959, 3_334, 6_374, 4_199, 0];
  const current = readings(MARCH_MS, 14, (day) => uneven[day - 1] ?? 0);
  const previous = readings(FEBRUARY_MS, 28, (day) => [1_500, 2_300, 1_700, 2_000, 1_450, 2_150][day % 6] ?? 0);
  const usage = buildDailyUsage({
    ...{ period: '2026-03', elapsedMs: 13.6 * DAY_MS, wasRead: ALWAYS },
    current: { readings: current, total: current.at(-1)?.credits ?? null },
    previous: { readings: previous, total: previous.at(-1)?.credits ?? null },
  });
  expect(usage.since).toBe('2026-03-06');
});

test('the latest change is named: a newcomer of 20 a day that uses 21,000 a day since the 28th', () => {
  const current = readings(MARCH_MS, 31, (day) => (day < 5 ? 0 : day < 28 ? 20 : 21_000));
  const usage = buildDailyUsage({
    ...{ period: '2026-03', elapsedMs: 31 * DAY_MS, wasRead: ALWAYS },
    current: { readings: current, total: current.at(-1)?.credits ?? null },
    previous: { readings: [], total: null },
  });
  expect(usage).toMatchObject({ since: '2026-03-28', recent_daily_credits: 21_000n });
  expect(Number(usage.usual_daily_credits)).toBeLessThanOrEqual(20);
});
