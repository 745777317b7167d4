import { expect, test } from 'vitest';
import { describeOutletProblems, type OutletStatus } from '../../src/outlets/outlet-status.ts';

const NONE = { events: 0, quantity: 0n };
const STATUS: OutletStatus = {
  ...{ name: 'billing', type: 'stripe', send: 'credits', state: 'sending', reason: null, fromPeriod: '2026-10' },
  ...{ waiting: 0, checkedAt: null, differences: null },
  events: { held: NONE, late: NONE, refused: NONE, settled: { events: 3, quantity: 9n } },
};

test('the alert of an outlet counts the exceptions in readable figures', () => {
  expect(describeOutletProblems(STATUS, false)).toBeNull();
  const events = {
    ...STATUS.events,
    late: { events: 1, quantity: -1_234_567n },
    refused: { events: 2, quantity: 40n },
  };
  expect(describeOutletProblems({ ...STATUS, events }, false)).toBe(
    '1 event (-1,234,567 credits) too old for the receiver; 2 events (40 credits) refused',
  );
  expect(describeOutletProblems({ ...STATUS, state: 'paused', reason: 'paused by Ada: prices' }, true)).toBeNull();
});
