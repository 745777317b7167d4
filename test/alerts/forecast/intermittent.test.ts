import { describe, expect, test } from 'vitest';
import { forecastByHabit, isIntermittent, pausesByHabit } from '../../../src/alerts/forecast/intermittent.ts';

/** Daily credits, latest first, of a tenant that is active on the days for which `isActive` holds; day 0 is now. */
const history = (isActive: (day: number) => boolean, credits: number, length = 360): number[] =>
  Array.from({ length }, (_, day) => (isActive(day) ? credits : 0));

const nobody = () => [];

describe('an intermittent tenant', () => {
  test('has a past, and fewer than ten active days of the latest 28', () => {
    expect(isIntermittent(history((day) => day % 4 === 0, 1))).toBe(true);
    expect(isIntermittent(history((day) => day % 2 === 0, 1))).toBe(false);
    expect(isIntermittent(history((day) => day < 5, 1))).toBe(false);
    expect(isIntermittent(history((day) => day < 5 || day > 40, 1))).toBe(true);
  });

  test('remains one while it works every day, if it pauses by habit', () => {
    expect(isIntermittent(history((day) => day % 50 < 28, 1))).toBe(true);
    // A single pause is no habit.
    expect(isIntermittent(history((day) => day < 28 || day > 50, 1))).toBe(false);
  });

  test('pauses by habit after two pauses of two weeks between days of use', () => {
    expect(pausesByHabit(history((day) => day % 20 === 0, 1))).toBe(true);
    expect(pausesByHabit(history((day) => day < 20 || day > 60, 1))).toBe(false);
    expect(pausesByHabit(history((day) => day > 30, 1))).toBe(false);
  });

  test('that is active on one day in 30 has no rest in the weeks after', () => {
    const days = history((day) => day % 30 === 0, 5000);
    expect(forecastByHabit(5000n, { days, left: 20, others: nobody })).toMatchObject({
      low: 5000n,
      likely: 5000n,
      high: 5000n,
    });
  });

  test('that works for ten days after each pause of 30 is expected to work for the rest of them', () => {
    // The third day of a stretch of ten: seven more at 100 each.
    const days = history((day) => (day + 7) % 40 < 10, 100);
    const forecast = forecastByHabit(300n, { days, left: 20, others: nobody });
    expect(Number(forecast?.likely)).toBeGreaterThanOrEqual(900);
    expect(Number(forecast?.likely)).toBeLessThanOrEqual(1100);
  });

  test('is forecast at its current level', () => {
    const usual = history((day) => (day + 5) % 40 < 10, 100);
    const tenfold = usual.map((credits, day) => (day < 5 ? credits * 10 : credits));
    const [low, high] = [usual, tenfold].map(
      (days) => forecastByHabit(0n, { days, left: 20, others: nobody })?.likely ?? 0n,
    );
    expect(Number(high) / Number(low)).toBeGreaterThan(4);
  });

  test('with a short past is forecast from the past of others; without others there is no forecast', () => {
    const days = history((day) => day < 3, 100, 40);
    const others = () => [history((day) => (day + 7) % 40 < 10, 200)];
    expect(forecastByHabit(300n, { days, left: 20, others: nobody })).toBeNull();
    // Seven more days at its own level.
    expect(Number(forecastByHabit(300n, { days, left: 20, others })?.likely)).toBeGreaterThanOrEqual(700);
  });

  test('reaches no limit before it has used the credits, however regular its past is', () => {
    const days = history((day) => (day + 7) % 40 < 10, 100);
    expect(forecastByHabit(300n, { days, left: 20, others: nobody })?.sure).toBeNull();
  });
});
