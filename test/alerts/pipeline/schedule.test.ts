import { expect, test } from 'vitest';
import type { News } from '../../../src/alerts/pipeline/decide.ts';
import { NO_WAIT, nextWait, type Wait, type WaitContext } from '../../../src/alerts/pipeline/schedule.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { NOON } from '../../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;
const NOW = isoTime(NOON);
const later = (hours: number): string => isoTime(NOON + hours * HOUR_MS);
const OPENED: News = { event: 'opened', notifiedCount: 0 };
const CLOSED: News = { event: 'closed', notifiedCount: 0 };

function next(before: Wait, verdict: News, context: Partial<WaitContext> = {}): Wait {
  const about = { alert: { episode: 1, level: 'happened' as const }, isOutOfLine: false, digestAt: null, nowMs: NOON };
  return nextWait(before, verdict, { ...about, groupAt: () => null, ...context });
}

const OWED: Wait = {
  ...NO_WAIT,
  owed: 'opened 1 happened 0',
  owedAt: later(-2),
  dueAt: later(-2),
  dueSetAt: later(-2),
};

test('nothing is owed: it is asked again when the verdict says', () => {
  const nothing: News = { event: null, because: 'silence:x', evaluateAtMs: NOON + HOUR_MS };
  expect(next(OWED, nothing)).toEqual({ ...NO_WAIT, dueAt: later(1), dueSetAt: NOW });
  // When that was worked out stays as it is: a clock that was ahead shows by it.
  expect(next(next(NO_WAIT, nothing), nothing, { nowMs: NOON + 1 }).dueSetAt).toBe(NOW);
  expect(next(OWED, { event: null, because: 'told', evaluateAtMs: null })).toEqual(NO_WAIT);
});

test('what is owed goes at once, with its daily summary, or with its group', () => {
  expect(next(NO_WAIT, OPENED)).toMatchObject({ owed: OWED.owed, owedAt: NOW, dueAt: NOW, goesWith: null });
  expect(next(NO_WAIT, OPENED, { digestAt: later(9) })).toMatchObject({ dueAt: later(9), goesWith: 'digest' });
  expect(next(NO_WAIT, OPENED, { groupAt: () => later(20) })).toMatchObject({ dueAt: later(20), goesWith: 'group' });
});

test('a wait goes on for as long as the same is owed, whatever would be said now', () => {
  for (const before of [
    { ...OWED, goesWith: 'digest' as const, dueAt: later(3) },
    { ...OWED, goesWith: 'group' as const, dueAt: later(3) },
    { ...OWED, failures: 4, dueAt: later(3) },
    { ...OWED, givenUp: 1, dueAt: null },
  ])
    expect(next(before, OPENED, { digestAt: later(9), groupAt: () => later(20) })).toEqual(before);
});

test('who waits for a group and is far out of line waits no longer, unless it was refused', () => {
  const waits = { ...OWED, goesWith: 'group' as const, dueAt: later(3) };
  expect(next(waits, OPENED, { isOutOfLine: true })).toMatchObject({ goesWith: null, dueAt: NOW });
  const refused = { ...waits, failures: 1 };
  expect(next(refused, OPENED, { isOutOfLine: true })).toEqual(refused);
});

test('something else that is owed waits as long as what was refused before it, and is tried for three days itself', () => {
  const refused = { ...OWED, failures: 17, dueAt: later(5) };
  expect(next(refused, CLOSED)).toMatchObject({
    owed: 'closed 1 happened 0',
    dueAt: later(5),
    failures: 7,
    owedAt: NOW,
  });
  expect(next(refused, CLOSED, { digestAt: later(9) })).toMatchObject({ dueAt: later(9), failures: 0 });
});

test('something else is owed than what was given up: it goes at once', () => {
  expect(next({ ...OWED, givenUp: 1, dueAt: null, failures: 18 }, CLOSED)).toMatchObject({
    dueAt: NOW,
    failures: 0,
    givenUp: 0,
  });
});
