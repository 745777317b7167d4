import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forecastFromPast, trendOf, type UsageForecast } from '../../../src/alerts/forecast/forecast.ts';
import {
  DailyCredits,
  daysSincePause,
  type PastUsage,
  RATE_DAYS,
  usedBetween,
} from '../../../src/alerts/forecast/past-days.ts';

const MONTH = 30;

/** What a subject used on each day, the last `today` of them in the open month; all months have 30 days. */
function outlookOf(days: readonly number[], today: number): UsageForecast | null {
  const current = days.slice(days.length - today).reduce((sum, used) => sum + used, 0);
  return forecastFromPast(BigInt(Math.round(current)), pastOf([...days].reverse(), today));
}

/** The days are those that ended last first. */
function pastOf(days: readonly number[], elapsed: number): PastUsage {
  const rest = (months: number) => usedBetween(days, elapsed + (months - 1) * MONTH, months * MONTH);
  return { days, elapsed, lengths: [MONTH, MONTH, MONTH], rests: [rest(1), rest(2)] };
}

function said(days: readonly number[], today: number): Record<'low' | 'likely' | 'high' | 'sure', number> {
  const { low, likely, high, sure } = outlookOf(days, today) as UsageForecast;
  return { low: Number(low), likely: Number(likely), high: Number(high), sure: Number(sure) };
}

/** Within so many percent. */
function expectNear(credits: number, expected: number, percent = 2): void {
  expect(Math.abs(credits - expected) / expected).toBeLessThan(percent / 100);
}

const even = (count: number, credits = 100) => Array.from({ length: count }, () => credits);
/** Days that differ by up to a tenth, the same for the same place. */
const uneven = (count: number, credits = 100) =>
  Array.from({ length: count }, (_, day) => credits * (1 + 0.1 * Math.sin(day * 2.3)));
const workdays = (count: number, credits = 100) =>
  Array.from({ length: count }, (_, day) => (day % 7 < 5 ? credits : 0));
const front = (credits = 100) => [...even(4, credits * 5), ...even(26, credits)];
const back = (credits = 100) => [...even(27, credits), ...even(3, credits * 12)];

const pasts = fc.array(fc.nat({ max: 1_000_000 }), { minLength: 1, maxLength: 130 });
const elapsed = fc.double({ min: 0.01, max: MONTH - 0.01, noNaN: true });

describe('the forecast of a month', () => {
  it('continues at the current rate, since its last change', () => {
    expectNear(said(uneven(100), 10).likely, 3000);
    expectNear(said([...uneven(90), ...uneven(10, 300)], 10).likely, 9000);
    expectNear(said([...uneven(95), ...uneven(5, 700)], 10).likely, 500 + 25 * 700, 4);
    expectNear(said([...uneven(95), ...uneven(5, 20)], 20).likely, 1600 + 10 * 20, 4);
  });

  it('is the same before and after the month passes a limit', () => {
    for (const today of [3, 6, 9, 15, 25])
      expectNear(said([...uneven(90), ...uneven(today, 300)], today).likely, 9000, 6);
  });

  it('counts a rate of one day half', () => {
    const { likely } = said([...uneven(99), 500], 10);
    expect(likely).toBeGreaterThan(1400 + 20 * 200);
    expect(likely).toBeLessThan(1400 + 20 * 400);
  });

  it('knows the days of the week', () => {
    const days = workdays(105);
    for (const today of [3, 5, 6, 10, 12]) {
      const month = workdays(days.length + MONTH - today).slice(-MONTH);
      expectNear(
        said(days, today).likely,
        month.reduce((sum, used) => sum + used, 0),
        1,
      );
    }
  });

  it('repeats the busy first or last days of previous months', () => {
    expectNear(said([...front(), ...front(), ...front(), ...front().slice(0, 8)], 8).likely, 4600);
    expectNear(said([...back(), ...back(), ...back(), ...back().slice(0, 20)], 20).likely, 6300);
    expectNear(said([...back(), ...back(), ...back(), ...back(200).slice(0, 20)], 20).likely, 12_600);
  });

  it('ignores a burst like an earlier one, but not after two weeks', () => {
    const burst = [...uneven(40), ...uneven(5, 500), ...uneven(45), ...uneven(4, 500)];
    expect(said(burst, 10).likely).toBeLessThan(6000);
    const long = [...uneven(30), ...uneven(25, 500), ...uneven(40), ...uneven(5, 500)];
    expectNear(said(long, 10).likely, 500 + 25 * 500, 4);
  });

  it('includes the previous rate while a new rate is at most ten days old', () => {
    const since = (days: number) => said([...uneven(100 - days), ...uneven(days, 500)], 15);
    for (const days of [2, 6, 10]) {
      const { low, sure } = since(days);
      const returned = (15 - days) * 100 + days * 500 + 15 * 100;
      expectNear(low, returned, 15);
      expect(sure).toBeLessThan(returned * 1.05);
    }
    expect(since(12).low).toBeGreaterThan(300 + 12 * 500 + 15 * 250);
    expect(since(12).sure).toBeGreaterThan(300 + 12 * 500 + 15 * 400);
  });

  it('includes the rate of the latest four days while a new rate is at most four weeks old', () => {
    // Noisy days, of which the rise ended four days ago without a change that is beyond chance.
    const noisy = (count: number, credits: number) =>
      even(count, credits).map((c, day) => c * (day % 2 === 0 ? 0.4 : 1.6));
    const { low, sure, likely } = said([...noisy(80, 100), ...noisy(14, 400), ...noisy(4, 150)], 18);
    const used = 14 * 400 + 4 * 150;
    expect(likely).toBeGreaterThan(used + 12 * 250);
    expect(low).toBeLessThan(used + 12 * 150);
    expect(sure).toBeLessThan(used + 12 * 150);
  });

  it('includes that a tenant of less than two months goes on growing', () => {
    const growing = (count: number) => Array.from({ length: count }, (_, day) => 10 * (day + 1));
    const final = (count: number) =>
      growing(count + 15)
        .slice(count - 15)
        .reduce((sum, used) => sum + used, 0);
    expect(said(growing(30), 15).high).toBeGreaterThanOrEqual(final(30));
    expect(said(even(30), 15).high).toBeLessThan(15 * 100 + 15 * 150);
    // A tenant of long standing has months to show what it does.
    expect(said([...even(60, 0.1), ...growing(30)], 15).high).toBeLessThan(final(30));
  });

  it('begins at the credits to date while a new tenant has used something on one or two days', () => {
    expect(said([900], 1)).toMatchObject({ low: 900, sure: 0 });
    expect(said([900, 900], 2).low).toBe(1800);
    expect(said([0, 0, 900, 900], 4).low).toBe(1800);
    expect(said([900, 900, 900], 3).low).toBeGreaterThan(2800);
    expect(said([900], 1).high).toBeGreaterThan(20 * 900);
  });

  it('includes the previous rate during a pause', () => {
    const { likely, high } = said([...uneven(90), ...even(10, 0)], 15);
    expectNear(likely, 500);
    expect(high).toBeGreaterThan(500 + 15 * 90);
  });

  it('does not widen its range by the days before a change', () => {
    const { high } = said([...uneven(95), ...uneven(25, 300)], 25);
    expect(high).toBeLessThan(7500 + 1500 * 1.7);
  });

  it('is less sure where a busy day is followed by another', () => {
    const width = (busy: (day: number) => boolean) => {
      const { low, high } = said(
        even(70, 0).map((_, day) => (busy(day) ? 200 : 0)),
        10,
      );
      return high - low;
    };
    expect(width((day) => day % 10 < 5)).toBeGreaterThan(width((day) => day % 2 < 1) * 1.15);
  });

  it('deducts half of the early credits of a tenant that works in bursts', () => {
    // Ten in a hundred days, of 1,000 credits each, that no weekday and no day of the month foretells.
    const bursts = [2, 15, 21, 34, 47, 53, 66, 74, 90, 93];
    const days = (places: readonly number[]) => even(100, 0).map((_, day) => (places.includes(day) ? 1000 : 0));
    const early = said(days([...bursts, 91, 94, 95, 97, 98]), 10);
    const rate = (early.likely + 7 * 500) / 30;
    expect(early.likely).toBeLessThan(7000 + 20 * 130 * 0.6);
    expect(rate).toBeGreaterThan(100);
    expect(early.low).toBe(7000);
  });

  it('uses weekdays that other weeks confirm', () => {
    const days = even(60, 0);
    [days[49], days[41]] = [1000, 1000];
    // The two days that are left are weekdays of which nothing is known.
    expect(said(days, 28).likely).toBeGreaterThan(2000 + 10);
  });

  it('does not repeat a previous month with other busy days', () => {
    const month = (places: readonly number[]) => even(30, 0).map((_, day) => (places.includes(day) ? 100 : 0));
    const days = [month([2, 9, 20, 27]), month([2, 12, 20, 25]), month([2, 9, 20, 27])].flat();
    const today = [...days, ...month([2, 12, 20, 25]).slice(0, 28)];
    // Two days are left, on which the months before used nothing.
    expect(said(today, 28).likely).toBeGreaterThan(400);
  });

  it('is sure of nothing with fewer than fourteen days, and absent without one', () => {
    expect(outlookOf(even(13), 10)?.sure).toBeNull();
    expect(outlookOf(even(14), 10)?.sure).not.toBeNull();
    expect(outlookOf([], 0)).toBeNull();
  });

  it('is less sure for a tenant that varies more', () => {
    const width = (days: number[]) => said(days, 10).high - said(days, 10).low;
    const wild = Array.from({ length: 100 }, (_, day) => 100 * (1 + Math.sin(day * 2.3)));
    expect(width(uneven(100))).toBeLessThan(width(wild));
    expect(said(uneven(100), 10).sure).toBeGreaterThan(said(wild, 10).sure);
  });

  it('is never below the current credits, and its range contains its middle', () => {
    fc.assert(
      fc.property(pasts, elapsed, fc.bigInt({ min: 0n, max: 2n ** 62n }), (days, passed, current) => {
        const monthForecast = forecastFromPast(current, pastOf(days, passed));
        if (monthForecast === null) throw new Error('there is a day');
        const { low, likely, high, sure } = monthForecast;
        expect(current <= low && low <= likely && likely <= high).toBe(true);
        expect(sure === null || sure >= current).toBe(true);
      }),
    );
  });

  it('scales with the usage', () => {
    fc.assert(
      fc.property(pasts, elapsed, (days, passed) => {
        const past = (times: number) =>
          forecastFromPast(
            0n,
            pastOf(
              days.map((used) => used * times),
              passed,
            ),
          );
        const [once, thousandfold] = [Number(past(1)?.likely), Number(past(1000)?.likely)];
        expect(Math.abs(thousandfold - once * 1000)).toBeLessThanOrEqual(501 + once);
      }),
    );
  });

  it('equals the current credits without usage, and when the month is over', () => {
    expect(outlookOf(even(100, 0), 10)).toEqual({ low: 0n, likely: 0n, high: 0n, sure: 0n });
    expect(outlookOf(even(100), 30)).toEqual({ low: 3000n, likely: 3000n, high: 3000n, sure: 3000n });
  });
});

describe('the trend of a month', () => {
  const monthForecast = (sure: bigint | null, likely: bigint): UsageForecast => ({
    low: 0n,
    likely,
    high: likely,
    sure,
  });

  it('is ahead when the limit is almost certainly reached, and near it from nine tenths', () => {
    expect(trendOf(monthForecast(1000n, 2000n), 1000n)).toBe('ahead');
    expect(trendOf(monthForecast(900n, 2000n), 1000n)).toBe('inconclusive');
    expect(trendOf(monthForecast(899n, 900n), 1000n)).toBe('near');
    expect(trendOf(monthForecast(800n, 899n), 1000n)).toBe('behind');
    expect(trendOf(monthForecast(null, 5000n), 1000n)).toBe('unknown');
    expect(trendOf(null, 1000n)).toBe('unknown');
  });
});

describe('the days of a subject', () => {
  const read = (days: readonly number[], known = RATE_DAYS) =>
    daysSincePause(
      new DailyCredits(known, (ago) => days.slice(ago).reduce((sum, used) => sum + used, 0)).latest(RATE_DAYS),
    );

  it('go back to the first reading, 120 days at most', () => {
    expect(read([3, 2, 1], 2)).toEqual([3, 2]);
    expect(read(even(200))).toHaveLength(120);
  });

  it('begin after the first day of usage that follows four idle weeks', () => {
    expect(read([9, 8, 3])).toEqual([9, 8]);
    expect(read([3])).toEqual([]);
    expect(read([9, ...even(27, 0), 5, 1, 1])).toHaveLength(30);
    expect(read([9, 8, ...even(28, 0), 5])).toEqual([9]);
  });

  it('have nothing below zero', () => {
    expect(read([5, -3, 7], 3)).toEqual([5, 0, 7]);
  });
});
