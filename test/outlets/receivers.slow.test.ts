import { describe, expect, onTestFinished, test } from 'vitest';
import { rejection } from '../support/rejection.ts';
import { testClock } from '../support/time/test-clock.ts';
import { CUSTOMERS, WORLDS } from './four-receivers.ts';
import { manyEvents, NEVER, sendAll, usageEvent } from './receiver-world.ts';

const SEED = Number(process.env.OUTLET_SEED ?? 11);

/** The sums of a double that names customers by ids of its own, by the names that they were sent with. */
function byName(sums: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(sums).map(([key, sum]) => [key.replace('id-of-', ''), sum]));
}

describe.each(Object.entries(WORLDS))('%s', (_, startWorld) => {
  test('has the sent quantities by customer and month', async () => {
    const { double, receiver } = await startWorld();
    const { events, sums } = manyEvents(300, CUSTOMERS);

    expect(await sendAll(receiver, events)).toEqual({ others: [], uncertain: 0 });

    expect(byName(double.sums())).toEqual(sums);
    for (const period of ['2026-02', '2026-03']) {
      const usage = await receiver.usage(period, CUSTOMERS, NEVER);
      const wanted = CUSTOMERS.map((customer) => [customer, sums[`${customer} ${period}`]]);
      expect(CUSTOMERS.map((customer) => [customer, usage?.get(customer)])).toEqual(wanted);
    }
  });

  test('counts each event once when a third of the calls fails', async () => {
    const { double, receiver } = await startWorld({ faults: { seed: SEED, share: 0.3 } });
    const { events, sums } = manyEvents(10_000, CUSTOMERS);

    const { others, uncertain } = await sendAll(receiver, events);

    expect(others).toEqual([]);
    expect(uncertain).toBeGreaterThan(0);
    expect(byName(double.sums())).toEqual(sums);
    expect([...double.countedTimes().values()].filter((times) => times !== 1)).toEqual([]);
  });

  test('counts an event in the last second of a month in that month', async () => {
    const { double, receiver } = await startWorld();
    const timeMs = Date.UTC(2026, 2, 1) - 1000;
    await receiver.send([usageEvent('a', 5n, { timeMs, period: '2026-02' })], NEVER);
    expect(byName(double.sums())).toEqual({ 'acme 2026-02': '5' });
    expect((await receiver.usage('2026-03', ['acme'], NEVER))?.get('acme') ?? '0').toBe('0');
  });

  test('has no usage for an unknown customer', async () => {
    const { receiver } = await startWorld();
    expect((await receiver.usage('2026-03', ['nobody'], NEVER))?.get('nobody') ?? '0').toBe('0');
  });

  test('refuses wrong credentials, which appear in no answer or error', async () => {
    const { double, stranger } = await startWorld();
    const outcomes = await stranger.send([usageEvent('a', 5n), usageEvent('b', 5n)], NEVER);
    expect(outcomes.map(({ is }) => is)).toEqual(['unauthorized', 'unauthorized']);
    expect(JSON.stringify(outcomes)).not.toContain('Bearer');
    expect(await rejection(stranger.probe(NEVER))).toMatchObject({ code: 'outlet_unauthorized' });
    expect(await rejection(stranger.usage('2026-03', ['acme'], NEVER))).toMatchObject({ code: 'outlet_unauthorized' });
    expect(double.held).toEqual([]);
  });

  test('a rate-limited call is retried and was certainly not accepted', async () => {
    const { receiver } = await startWorld({ callsPerSecond: 0 });
    const outcomes = await receiver.send([usageEvent('a', 5n)], NEVER);
    expect(outcomes).toMatchObject([{ is: 'retry', certain: true }]);
  });

  test('a rate-limited query waits', async () => {
    const clock = testClock();
    const { receiver } = await startWorld({ clock, callsPerSecond: 1 });
    const asked = receiver.usage('2026-03', ['acme', 'globex'], NEVER);
    const passing = setInterval(() => clock.advance(1000), 20);
    onTestFinished(() => clearInterval(passing));
    expect((await asked)?.get('globex') ?? '0').toBe('0');
  });

  test('a server error leaves it uncertain whether an event was accepted', async () => {
    const { double, receiver } = await startWorld();
    await receiver.send([usageEvent('a', 5n)], NEVER);
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed += 1) {
      double.setFaults({ seed, share: 1 });
      const [outcome] = await receiver.send([usageEvent(`again-${seed}`, 5n)], NEVER);
      if (outcome?.is === 'retry')
        seen.add(`${outcome.certain} ${/429|500|ECONNRESET|UND_ERR_SOCKET/.exec(outcome.answer)?.[0]}`);
    }
    expect([...seen].sort()).toEqual(['false 500', 'false UND_ERR_SOCKET', 'true 429']);
  });

  test('a probe changes nothing and reports a meter that sums something else', async () => {
    const { double, receiver } = await startWorld();
    await receiver.probe(NEVER);
    expect(double.calls.map(({ method }) => method)).toEqual(['GET']);
    const { receiver: other } = await startWorld({ property: 'requests' });
    expect(await rejection(other.probe(NEVER))).toMatchObject({ code: 'outlet_mismatch' });
  });

  test('sends no more events per call than the double accepts', async () => {
    const { double, receiver } = await startWorld();
    const { events } = manyEvents(receiver.limits.eventsPerCall, CUSTOMERS);
    const outcomes = await receiver.send(events, NEVER);
    expect(outcomes.filter(({ is }) => is !== 'accepted')).toEqual([]);
    expect(double.calls.every(({ status }) => status < 400)).toBe(true);
  });

  test('an abort is an outcome', async () => {
    const { receiver } = await startWorld();
    const outcomes = await receiver.send([usageEvent('a', 5n)], AbortSignal.abort());
    expect(outcomes).toMatchObject([{ is: 'retry' }]);
  });
});
