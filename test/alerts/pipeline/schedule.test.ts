import { expect, test } from 'vitest';
import type { NotifyDecision } from '../../../src/alerts/pipeline/decide.ts';
import {
  NO_PENDING_NOTIFICATION,
  type PendingNotification,
  type ScheduleContext,
  scheduleNotification,
} from '../../../src/alerts/pipeline/schedule.ts';
import { isoTime } from '../../../src/core/clock.ts';
import { NOON } from '../../support/time/test-clock.ts';

const HOUR_MS = 3_600_000;
const NOW = isoTime(NOON);
const later = (hours: number): string => isoTime(NOON + hours * HOUR_MS);
const OPENED: NotifyDecision = { event: 'opened', notifiedCount: 0 };
const CLOSED: NotifyDecision = { event: 'closed', notifiedCount: 0 };

function next(
  before: PendingNotification,
  decision: NotifyDecision,
  context: Partial<ScheduleContext> = {},
): PendingNotification {
  const about = { alert: { episode: 1, level: 'happened' as const }, isOutlier: false, digestAt: null, nowMs: NOON };
  return scheduleNotification(before, decision, { ...about, groupAt: () => null, ...context });
}

const PENDING: PendingNotification = {
  ...NO_PENDING_NOTIFICATION,
  pending: 'opened 1 happened 0',
  pendingAt: later(-2),
  dueAt: later(-2),
  scheduledAt: later(-2),
};

test('with nothing pending, the decision is repeated at its own time', () => {
  const nothing: NotifyDecision = { event: null, reason: 'silence:x', evaluateAtMs: NOON + HOUR_MS };
  expect(next(PENDING, nothing)).toEqual({ ...NO_PENDING_NOTIFICATION, dueAt: later(1), scheduledAt: NOW });
  // When that was worked out stays as it is: a clock that was ahead shows by it.
  expect(next(next(NO_PENDING_NOTIFICATION, nothing), nothing, { nowMs: NOON + 1 }).scheduledAt).toBe(NOW);
  expect(next(PENDING, { event: null, reason: 'notified', evaluateAtMs: null })).toEqual(NO_PENDING_NOTIFICATION);
});

test('a notification is sent at once, with its daily summary, or with its group', () => {
  expect(next(NO_PENDING_NOTIFICATION, OPENED)).toMatchObject({
    pending: PENDING.pending,
    pendingAt: NOW,
    dueAt: NOW,
    batch: null,
  });
  expect(next(NO_PENDING_NOTIFICATION, OPENED, { digestAt: later(9) })).toMatchObject({
    dueAt: later(9),
    batch: 'digest',
  });
  expect(next(NO_PENDING_NOTIFICATION, OPENED, { groupAt: () => later(20) })).toMatchObject({
    dueAt: later(20),
    batch: 'group',
  });
});

test('a pending notification keeps its time while the decision stays the same', () => {
  for (const before of [
    { ...PENDING, batch: 'digest' as const, dueAt: later(3) },
    { ...PENDING, batch: 'group' as const, dueAt: later(3) },
    { ...PENDING, failures: 4, dueAt: later(3) },
    { ...PENDING, givenUp: 1, dueAt: null },
  ])
    expect(next(before, OPENED, { digestAt: later(9), groupAt: () => later(20) })).toEqual(before);
});

test('an outlier leaves its pending group, unless the group was refused', () => {
  const waits = { ...PENDING, batch: 'group' as const, dueAt: later(3) };
  expect(next(waits, OPENED, { isOutlier: true })).toMatchObject({ batch: null, dueAt: NOW });
  const refused = { ...waits, failures: 1 };
  expect(next(refused, OPENED, { isOutlier: true })).toEqual(refused);
});

test('a new notification waits for the back-off of the refused one before it, and is retried for three days itself', () => {
  const refused = { ...PENDING, failures: 17, dueAt: later(5) };
  expect(next(refused, CLOSED)).toMatchObject({
    pending: 'closed 1 happened 0',
    dueAt: later(5),
    failures: 7,
    pendingAt: NOW,
  });
  expect(next(refused, CLOSED, { digestAt: later(9) })).toMatchObject({ dueAt: later(9), failures: 0 });
});

test('a new notification after one that was given up is sent at once', () => {
  expect(next({ ...PENDING, givenUp: 1, dueAt: null, failures: 18 }, CLOSED)).toMatchObject({
    dueAt: NOW,
    failures: 0,
    givenUp: 0,
  });
});
