import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PeriodPhase } from '../../../src/alerts/measures/judgement.ts';
import { type Curve, NO_CURVE, type PaceInput } from '../../../src/alerts/measures/pace/curve.ts';
import { forecast } from '../../../src/alerts/measures/pace/forecast.ts';
import { judgePace } from '../../../src/alerts/measures/pace/pace.ts';
import { restProjection } from '../../../src/alerts/measures/pace/rest-part.ts';
import { slowProjection } from '../../../src/alerts/measures/pace/slow-part.ts';

const DAY_MS = 86_400_000;
const DAYS = 30;

/**
 * A tenant by what it used on each day, the last `today` of them in the open month and 30 in each month before; within a
 * day it is used evenly. `unread` are days ago that nobody read.
 */
function curveOf(days: readonly number[], today: number, unread: readonly number[] = []): Curve {
  const sum = (until: number) => days.slice(0, Math.max(0, until)).reduce((total, day) => total + day, 0);
  const startOf = (before: number) => days.length - today - before * DAYS;
  const used = (from: number, to: number) => {
    if (from > days.length || unread.includes(from) || unread.includes(to)) return null;
    return BigInt(sum(days.length - to) - sum(days.length - from));
  };
  return {
    total: (before) => (startOf(before) < 0 ? null : BigInt(sum(startOf(before) + DAYS) - sum(startOf(before)))),
    monthToDate: (before, daysBefore) => {
      const reached = startOf(before) + Math.min(DAYS, today - daysBefore);
      return startOf(before) < 0 ? null : BigInt(sum(reached) - sum(startOf(before)));
    },
    lengthMs: () => DAYS * DAY_MS,
    used,
    usedAsRead: used,
  };
}

function phaseOn(day: number): PeriodPhase {
  return { elapsedMs: day * DAY_MS, lengthMs: DAYS * DAY_MS, over: false, settled: false };
}

/** The open month has `today` days of the tenant; a jump is one and a half of the month before. */
function paceOf(days: readonly number[], today: number, unread: readonly number[] = []) {
  const curve = curveOf(days, today, unread);
  const current = BigInt(days.slice(-today).reduce((total, day) => total + day, 0));
  const limit = ((curve.total(1) ?? 0n) * 3n) / 2n;
  return judgePace({ current, limit, phase: phaseOn(today), curve });
}

const even = (count: number, credits = 100) => Array.from({ length: count }, () => credits);
/** A month with most of its use on the first days, or on the last ones. */
const front = (credits = 100) => [...even(4, credits * 5), ...even(26, credits)];
const back = (credits = 100) => [...even(27, credits), ...even(3, credits * 12)];

describe('where an open month heads', () => {
  it('is told of an even tenant that uses twice as much from the first day on', () => {
    expect(paceOf([...even(90), ...even(10, 200)], 10)).toEqual({ verdict: 'ahead', projection: 6000n });
    expect(paceOf([...even(90), ...even(10, 100)], 10).verdict).toBe('behind');
    expect(paceOf([...even(90), ...even(10, 140)], 10)).toEqual({ verdict: 'near', projection: 4200n });
  });

  it('compares who front-loads with its own months, not with a straight line', () => {
    const months = [...front(), ...front(), ...front()];
    expect(paceOf([...months, ...front().slice(0, 8)], 8).verdict).toBe('behind');
    expect(paceOf([...months, ...front(200).slice(0, 8)], 8).verdict).toBe('ahead');
  });

  it('does not add the end of a back-loaded month before it comes', () => {
    const months = [...back(), ...back(), ...back()];
    expect(paceOf([...months, ...back().slice(0, 20)], 20).verdict).toBe('behind');
    expect(paceOf([...months, ...back(100).slice(0, 29)], 29).verdict).toBe('behind');
  });

  it('sees what begins in mid-month within two days, long before the month to date shows it', () => {
    const begun = (days: number) => [...even(90), ...even(15), ...even(days, 300)];
    expect(paceOf(begun(1), 16).verdict).not.toBe('ahead');
    expect(paceOf(begun(2), 17).verdict).toBe('ahead');
    expect(slowProjection({ ...inputOf(begun(2), 17) })).toBeLessThan(4500n);
  });

  it('sees it at the first look, too, which asks first whether the latest days stand out at all', () => {
    for (const daysAgo of [3, 5]) {
      const curve = curveOf([...even(105), ...even(daysAgo, 900)], 15 + daysAgo);
      const used = { current: 1500n + BigInt(daysAgo) * 900n, limit: 11_000n, phase: phaseOn(15 + daysAgo), curve };
      expect(judgePace({ ...used, isNew: true })).toMatchObject({ verdict: 'ahead' });
      expect(judgePace({ ...used, isNew: true })).toEqual(judgePace(used));
    }
  });

  it('does not take for new what the tenant does in mid-month every month', () => {
    const month = [...even(13), ...even(3, 1000), ...even(14)];
    const days = [...month, ...month, ...month, ...month.slice(0, 16)];
    expect(paceOf(days, 16).verdict).not.toBe('ahead');
  });

  it('does not hang on a single day', () => {
    const burst = [...even(90), ...even(2), 1500, ...even(7)];
    expect(slowProjection(inputOf(burst, 10))).toBeGreaterThan(4500n);
    expect(paceOf(burst, 10).verdict).not.toBe('ahead');
    expect(paceOf([...even(90), ...even(10, 220)], 10).verdict).toBe('ahead');
  });

  it('counts days of rest out: who works on weekdays and rises on a Friday is seen on Monday evening', () => {
    const week = [100, 100, 100, 100, 100, 0, 0];
    const before = Array.from({ length: 15 }, () => week).flat();
    const days = [...before, ...[100, 100, 100, 100, 400, 0, 0, 400]];
    expect(paceOf(days, 23).verdict).toBe('ahead');
    expect(paceOf([...before, ...[100, 100, 100, 100, 100, 0, 0, 400]], 23).verdict).not.toBe('ahead');
  });

  it('adds a usual rest of the month to a burst, and half of it where little is known of how the tenant varies', () => {
    const burst = (months: number) => [...even(30 * months), ...even(4), 3200, ...even(5)];
    expect(restProjection(inputOf(burst(1), 10))).toBe(5100n);
    expect(restProjection(inputOf(burst(3), 10))).toBe(6100n);
    expect(paceOf(burst(3), 10)).toEqual({ verdict: 'ahead', projection: 6100n });
    expect(paceOf([...even(120), ...even(4), 900, ...even(5)], 10).verdict).not.toBe('ahead');
  });

  it('counts on a rest that most stretches of its length reached, and on no more than a usual rest of a month', () => {
    const weeks = (count: number) =>
      Array.from({ length: count }, (_, week) => even(7, week % 2 === 0 ? 100 : 0)).flat();
    // Most stretches of ten days were used on three days or more; nine in ten, the silent end included, on one.
    const uneven = inputOf([...weeks(18).slice(0, 120), ...even(19, 0), 3000], 20);
    expect(restProjection({ ...uneven, limit: 3000n })).toBe(3100n);
    // Two months in three have nothing in their last days.
    const rests = [...even(30), ...even(20), ...even(10, 0), ...even(20), ...even(10, 0)];
    expect(restProjection({ ...inputOf([...rests, ...even(19, 0), 3000], 20), limit: 3000n })).toBe(3000n);
  });

  it('draws no line through the days of who uses something on few of them', () => {
    const month = even(30, 0).map((_, day) => (day % 7 === 3 ? 1000 : 0));
    const begun = [0, 500, 0, 500, 500, 0, 500, 0];
    expect(slowProjection(inputOf([...month, ...month, ...month, ...begun], 8))).toBeGreaterThan(6000n);

    expect(paceOf([...month, ...month, ...month, ...begun], 8).verdict).not.toBe('ahead');
  });

  it('wavers while the latest days head near the limit, so that who waits goes on waiting', () => {
    expect(paceOf([...even(90), ...even(15), ...even(2, 165)], 17).verdict).toBe('behind');
    expect(paceOf([...even(90), ...even(15), ...even(4, 196)], 19).verdict).toBe('wavering');
  });

  it('concludes nothing from what nobody read', () => {
    const input = inputOf([...even(90), ...even(10, 200)], 10);
    expect(judgePace({ ...input, curve: NO_CURVE })).toEqual({ verdict: 'unknown', projection: null });
    const midMonth = [...even(90), ...even(15), ...even(2, 300)];
    expect(paceOf(midMonth, 17, [11]).verdict).not.toBe('ahead');
  });

  it('stays ahead for who uses more today', () => {
    const day = fc.integer({ min: 0, max: 1000 });
    fc.assert(
      fc.property(fc.array(day, { minLength: 70, maxLength: 70 }), fc.integer({ min: 1, max: 5000 }), (days, more) => {
        const heads = (list: readonly number[]) => {
          const input = inputOf(list, 10);
          return (slowProjection(input) ?? 0n) >= input.limit;
        };
        expect(heads([...days.slice(0, -1), (days.at(-1) ?? 0) + more]) || !heads(days)).toBe(true);
      }),
    );
  });
});

describe('what an open month comes to', () => {
  it('is by the rests of the months before what is over its limit, however much of it came on the first days', () => {
    const { current, curve } = inputOf([...front(), ...front(), ...front(150), ...front(400).slice(0, 4)], 4);
    expect(current).toBe(8000n);
    expect(forecast({ current, curve }, null)).toEqual({ low: 10_600n, likely: 10_600n, high: 11_900n });
  });

  it('is what is sure at the least while it heads for more, and at the most what months like those before make of it', () => {
    const input = inputOf([...back(), ...back(), ...back(), ...back(400).slice(0, 20)], 20);
    const pace = judgePace(input);
    expect(pace).toEqual({ verdict: 'ahead', projection: 12_000n });
    expect(forecast(input, pace)).toEqual({ low: 12_000n, likely: 12_000n, high: 25_200n });
    // A usual rest would make 4,000 of it.
    const doubled = inputOf([...even(90), ...even(10, 200)], 10);
    expect(forecast(doubled, judgePace(doubled))).toEqual({ low: 6000n, likely: 6000n, high: 6000n });
  });

  it('is unknown without a month that was read', () => {
    expect(forecast({ current: 10n, curve: NO_CURVE }, null)).toBeNull();
  });

  it('lies between its least and its most', () => {
    const day = fc.integer({ min: 0, max: 1000 });
    fc.assert(
      fc.property(fc.array(day, { minLength: 75, maxLength: 75 }), fc.integer({ min: 5, max: 14 }), (days, today) => {
        const input = inputOf(days, today);
        const pace = judgePace(input);
        const found = forecast(input, pace);
        if (found === null) throw new Error('two months were read');
        expect(found.low <= found.likely && found.likely <= found.high).toBe(true);
        if (pace.verdict === 'ahead') expect(found.low).toBe(pace.projection);
      }),
    );
  });
});

function inputOf(days: readonly number[], today: number): PaceInput {
  const curve = curveOf(days, today);
  const current = BigInt(days.slice(-today).reduce((total, day) => total + day, 0));
  return { current, limit: ((curve.total(1) ?? 0n) * 3n) / 2n, phase: phaseOn(today), curve };
}
