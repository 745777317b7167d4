import { describe, expect, it } from 'vitest';
import { DELIVERY_TABLE, type DeliveryEvent, type DeliveryState } from '../../../src/alerts/outbox/delivery-states.ts';

const STATES = Object.keys(DELIVERY_TABLE) as DeliveryState[];
const EVENTS = Object.keys(DELIVERY_TABLE.fresh) as DeliveryEvent[];

/** Every way through the table that begins with a message that was made. */
function ways(most: number): DeliveryEvent[][] {
  const all: DeliveryEvent[][] = [];
  const follow = (state: DeliveryState, way: DeliveryEvent[]): void => {
    all.push(way);
    if (way.length === most) return;
    for (const event of EVENTS) {
      const next = DELIVERY_TABLE[state][event];
      if (next !== null) follow(next.state, [...way, event]);
    }
  };
  follow('fresh', []);
  return all;
}

function endOf(way: readonly DeliveryEvent[]): DeliveryState {
  return way.reduce<DeliveryState>((state, event) => DELIVERY_TABLE[state][event]?.state ?? state, 'fresh');
}

describe('the states of a message', () => {
  it('define a next state for each event', () => {
    for (const state of STATES) expect(Object.keys(DELIVERY_TABLE[state])).toEqual(EVENTS);
  });

  it('keep a message that may have arrived until its outcome is known, given up or sent elsewhere', () => {
    const [lost, ends] = [
      ['unknown', 'cut_off'],
      ['accepted', 'rejected', 'exhausted', 'withdraw'],
    ] as string[][];
    for (const way of ways(5)) {
      const first = way.findIndex((event, index) => lost?.includes(event) || (event === 'claim' && index === 1));
      if (first < 0 || way.slice(first + 1).some((event) => ends?.includes(event))) continue;
      expect([way, endOf(way)]).toEqual([way, 'possible']);
    }
  });

  it('count a channel as notified if it accepted, or may have accepted without a retry', () => {
    const notified = STATES.flatMap((state) =>
      EVENTS.filter((event) => DELIVERY_TABLE[state][event]?.members === 'notified').map(
        (event) => `${state} ${event}`,
      ),
    );
    expect(notified).toEqual([
      ...['trying accepted', 'trying withdraw'],
      ...['possible accepted', 'possible rejected', 'possible exhausted', 'possible withdraw'],
    ]);
  });

  it('free the members of a message that nobody received, and no others', () => {
    const freed = STATES.flatMap((state) =>
      EVENTS.filter((event) => DELIVERY_TABLE[state][event]?.members === 'freed').map((event) => `${state} ${event}`),
    );
    expect(freed).toEqual(['fresh outdated', 'trying refused']);
  });

  it('end when a message is delivered or refused', () => {
    for (const state of ['delivered', 'refused'] as const)
      expect(Object.values(DELIVERY_TABLE[state]).every((next) => next === null)).toBe(true);
  });
});
