import { expect, test } from 'vitest';
import { type OutletStanding, troubleOf } from '../../src/outlets/standing.ts';

const NONE = { events: 0, quantity: 0n };
const STANDING: OutletStanding = {
  ...{ name: 'billing', type: 'stripe', send: 'credits', state: 'sending', reason: null, fromPeriod: '2026-10' },
  ...{ waiting: 0, checkedAt: null, differences: null },
  events: { held: NONE, late: NONE, refused: NONE, settled: { events: 3, quantity: 9n } },
};

test('the alert of an outlet says what its receiver does not have, in figures that people read', () => {
  expect(troubleOf(STANDING, false)).toBeNull();
  const events = {
    ...STANDING.events,
    late: { events: 1, quantity: -1_234_567n },
    refused: { events: 2, quantity: 40n },
  };
  expect(troubleOf({ ...STANDING, events }, false)).toBe(
    '1 event of -1,234,567 credits too late for the receiver; 2 events of 40 credits refused',
  );
  expect(troubleOf({ ...STANDING, state: 'paused', reason: 'paused by Ada: prices' }, true)).toBeNull();
});
