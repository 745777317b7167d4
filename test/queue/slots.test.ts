import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CronSchedule, createSlotFinder, latestTime, timesAfter } from '../../src/core/cron.ts';
import { dueAttempt, dueSlot, nextAttemptMs, pauseAfterFailureMs, type SlotHistory } from '../../src/queue/slots.ts';

// cspell:ignore nows

const inUtc = (cron: string): CronSchedule => ({ cron, timezone: 'UTC' });
const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

describe('the latest slot', () => {
  test.each([
    ['*/15 * * * *', '2026-03-01T10:14:59.999Z', '2026-03-01T10:00:00.000Z'],
    ['*/15 * * * *', '2026-03-01T10:15:00.000Z', '2026-03-01T10:15:00.000Z'],
    ['*/15 * * * *', '2026-03-01T10:15:00.001Z', '2026-03-01T10:15:00.000Z'],
    ['17 3 * * 0', '2026-03-01T03:16:59.999Z', '2026-02-22T03:17:00.000Z'],
    ['0 0 29 2 *', '2026-03-01T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
    ['0 0 1 * 1', '2026-03-04T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
  ])('of %s at %s is %s', (cron, now, expected) => {
    expect(iso(latestTime(inUtc(cron), at(now)))).toBe(expected);
  });

  test('is at 02:30 UTC also on the night when that hour does not exist in Berlin', () => {
    expect(iso(latestTime(inUtc('30 2 * * *'), at('2026-03-29T12:00:00Z')))).toBe('2026-03-29T02:30:00.000Z');
    expect(iso(latestTime(inUtc('30 2 * * *'), at('2026-10-25T12:00:00Z')))).toBe('2026-10-25T02:30:00.000Z');
  });

  test('is the last time of the expression up to now', () => {
    const crons = ['*/15 * * * *', '17 3 * * 0', '0 0 1 * *', '5,35 6-18 * * 1-5', '0 */7 * * *', '*/10 * * * * *'];
    const times = fc.integer({ min: at('2020-01-01T00:00:00Z'), max: at('2035-01-01T00:00:00Z') });
    fc.assert(
      fc.property(fc.constantFrom(...crons), times, (cron, now) => {
        const slot = latestTime(inUtc(cron), now);
        if (slot === null) throw new Error('these have slots');
        const parsed = CronExpressionParser.parse(cron, { tz: 'UTC', currentDate: new Date(slot) });
        expect(slot).toBeLessThanOrEqual(now);
        expect(parsed.includesDate(new Date(slot))).toBe(true);
        expect(parsed.next().getTime()).toBeGreaterThan(now);
        expect(latestTime(inUtc(cron), slot)).toBe(slot);
      }),
    );
  });
});

test('the next times of any expression agree with an independent cron parser', () => {
  const some = (from: number, to: number): fc.Arbitrary<string> => {
    const value = fc.integer({ min: from, max: to });
    const range = fc.tuple(value, value).map((ends) => ends.toSorted((a, b) => a - b).join('-'));
    return fc.oneof({ weight: 2, arbitrary: fc.constant('*') }, value.map(String), range);
  };
  const stepped = (from: number, to: number): fc.Arbitrary<string> => {
    const step = fc.integer({ min: 1, max: 7 });
    return fc.oneof(
      some(from, to),
      fc.tuple(some(from, to), step).map((parts) => parts.join('/')),
    );
  };
  // Of days of the week the other one counts Sunday twice.
  const cron = fc.tuple(stepped(0, 59), stepped(0, 23), stepped(1, 28), stepped(1, 12), some(0, 6));
  const times = fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') });
  fc.assert(
    fc.property(cron, times, (fields, now) => {
      const expression = fields.join(' ');
      const parsed = CronExpressionParser.parse(expression, { tz: 'UTC', currentDate: new Date(now) });
      const slots = timesAfter(inUtc(expression), now);
      for (let nth = 0; nth < 5; nth += 1) expect(slots.next().value).toBe(parsed.next().getTime());
    }),
    { numRuns: 300 },
  );
});

describe('the due slot', () => {
  const now = at('2026-03-01T10:20:00Z');

  test('is the latest one when several were missed', () => {
    expect(dueSlot(inUtc('*/15 * * * *'), '2026-02-20T00:00:00.000Z', now)).toBe('2026-03-01T10:15:00.000Z');
  });

  test('is null if the latest one is done', () => {
    expect(dueSlot(inUtc('*/15 * * * *'), '2026-03-01T10:15:00.000Z', now)).toBeNull();
    expect(dueSlot(inUtc('*/15 * * * *'), '2026-03-01T10:15:00Z', now)).toBeNull();
  });

  test('is the latest one even after a future slot that a fast clock completed', () => {
    expect(dueSlot(inUtc('*/15 * * * *'), '2026-03-01T19:15:00.000Z', now)).toBe('2026-03-01T10:15:00.000Z');
    // Clocks of several machines need not agree to the second.
    expect(dueSlot(inUtc('*/15 * * * *'), '2026-03-01T10:21:00.000Z', now)).toBeNull();
  });

  test('exists at once for an entry that never ran', () => {
    expect(dueSlot(inUtc('17 3 * * 0'), null, now)).toBe('2026-03-01T03:17:00.000Z');
  });
});

describe('the due attempt', () => {
  const span = { slotMs: at('2026-03-01T00:00:00Z'), nextMs: at('2026-03-02T00:00:00Z') };
  const SLOT = '2026-03-01T00:00:00.000Z';
  const MINUTE = 60_000;
  const history = (change: Partial<SlotHistory>): SlotHistory => ({
    ...{ doneSlot: '2026-02-28T00:00:00.000Z', failures: 0, failedSlot: null, failedAtMs: null, refused: false },
    ...change,
  });
  const failed = (failures: number, change: Partial<SlotHistory> = {}): SlotHistory =>
    history({ failures, failedSlot: SLOT, failedAtMs: span.slotMs, ...change });
  const attemptAfter = (ms: number, known: SlotHistory) => dueAttempt(span, known, span.slotMs + ms)?.attempt ?? null;

  test('is the first one of an open slot, and null for a done slot', () => {
    expect(dueAttempt(span, history({}), span.slotMs)).toEqual({ slot: SLOT, attempt: 1 });
    expect(dueAttempt(span, history({ doneSlot: SLOT }), span.slotMs)).toBeNull();
    expect(dueAttempt(span, history({ doneSlot: null }), span.slotMs)).toEqual({ slot: SLOT, attempt: 1 });
  });

  test('is retried after 15 s, doubling each time, up to half the interval between slots', () => {
    expect([attemptAfter(14_999, failed(1)), attemptAfter(15_000, failed(1))]).toEqual([null, 2]);
    expect([attemptAfter(29_999, failed(2)), attemptAfter(30_000, failed(2))]).toEqual([null, 3]);
    expect([attemptAfter(7 * MINUTE, failed(6)), attemptAfter(8 * MINUTE, failed(6))]).toEqual([null, 7]);
    // A service that is away for hours is asked about eleven times a day, not five times in four minutes.
    const attempts: number[] = [];
    for (let failures = 1, nowMs = 0; nowMs < 24 * 60 * MINUTE; failures += 1) {
      attempts.push(nowMs);
      nowMs += pauseAfterFailureMs({ failures, refused: false }, 24 * 60 * MINUTE);
    }
    expect(attempts.length).toBeGreaterThanOrEqual(10);
    expect(attempts.length).toBeLessThanOrEqual(14);
    expect(pauseAfterFailureMs({ failures: 6, refused: false }, 15 * MINUTE)).toBe(7.5 * MINUTE);
  });

  test('of a new slot is due at its tick although the previous slot failed', () => {
    const before = failed(5, { failedSlot: '2026-02-28T00:00:00.000Z', failedAtMs: span.slotMs - 1000 });
    expect(attemptAfter(0, before)).toBe(6);
  });

  test('is one per slot after many failures', () => {
    expect(pauseAfterFailureMs({ failures: 20, refused: false }, 15 * MINUTE)).toBe(15 * MINUTE);
  });

  test('is rare after refused credentials, at new slots too', () => {
    const refused = failed(1, { failedSlot: '2026-02-28T23:59:00.000Z', refused: true });
    expect([attemptAfter(4 * MINUTE, refused), attemptAfter(5 * MINUTE, refused)]).toEqual([null, 2]);
    expect(pauseAfterFailureMs({ failures: 9, refused: true }, MINUTE)).toBe(60 * MINUTE);
  });

  test.each([1, 2, 6, 20])('is predicted to the millisecond after %i failures', (failures) => {
    for (const refused of [false, true]) {
      const known = failed(failures, { refused });
      const foretold = nextAttemptMs(span, known, span.slotMs + 1);
      expect(foretold).toBeGreaterThan(span.slotMs + 1);
      expect(attemptAfter(foretold - span.slotMs - 1, known)).toBeNull();
      if (foretold < span.nextMs) expect(attemptAfter(foretold - span.slotMs, known)).toBe(failures + 1);
    }
  });

  test('is predicted for the next slot if this one is done, and for now if nothing delays it', () => {
    expect(nextAttemptMs(span, history({ doneSlot: SLOT }), span.slotMs + MINUTE)).toBe(span.nextMs);
    expect(nextAttemptMs(span, history({}), span.slotMs + MINUTE)).toBe(span.slotMs + MINUTE);
  });

  test('is not delayed by a clock that was set back', () => {
    expect(attemptAfter(0, failed(3, { failedAtMs: span.slotMs + 7_200_000 }))).toBe(4);
    expect(attemptAfter(0, history({ doneSlot: '2026-03-02T00:00:00.000Z' }))).toBe(1);
  });

  test('is due again for a slot that a fast clock completed if later work failed, until it succeeds', () => {
    const doneSlot = '2026-03-01T00:00:00.000Z';
    const aheadMs = at('2026-03-02T00:00:01Z');
    expect(attemptAfter(0, failed(1, { doneSlot, failedSlot: '2026-03-02T00:00:00.000Z', failedAtMs: aheadMs }))).toBe(
      2,
    );
    expect(attemptAfter(20_000, failed(2, { doneSlot, failedSlot: doneSlot }))).toBeNull();
    expect(attemptAfter(31_000, failed(2, { doneSlot, failedSlot: doneSlot }))).toBe(3);
    expect(attemptAfter(31_000, history({ doneSlot }))).toBeNull();
  });
});

test('a slot finder agrees with an uncached search, for times in any order', () => {
  const crons = ['*/15 * * * *', '17 3 * * 0', '0 0 1 * *', '5,35 6-18 * * 1-5'];
  const times = fc.array(fc.integer({ min: at('2026-01-01T00:00:00Z'), max: at('2026-03-01T00:00:00Z') }), {
    minLength: 2,
    maxLength: 20,
  });
  fc.assert(
    fc.property(fc.constantFrom(...crons), times, (cron, nows) => {
      const find = createSlotFinder(inUtc(cron));
      for (const now of nows) {
        const span = find(now);
        expect(span?.slotMs).toBe(latestTime(inUtc(cron), now));
        expect(latestTime(inUtc(cron), (span?.nextMs ?? 0) - 1)).toBe(span?.slotMs);
        expect(latestTime(inUtc(cron), span?.nextMs ?? 0)).toBe(span?.nextMs);
      }
    }),
  );
});
