import type { Receiver } from '../../src/outlets/receiver.ts';
import { createLagoReceiver } from '../../src/outlets/types/lago.ts';
import { createMetronomeReceiver } from '../../src/outlets/types/metronome.ts';
import { createOpenMeterReceiver } from '../../src/outlets/types/openmeter.ts';
import { createStripeReceiver } from '../../src/outlets/types/stripe.ts';
import { type TestClock, testClock } from '../support/time/test-clock.ts';
import type { Double, DoubleOptions } from './doubles/double-server.ts';
import { startLago } from './doubles/lago-double.ts';
import { startMetronome } from './doubles/metronome-double.ts';
import { startOpenMeter } from './doubles/openmeter-double.ts';
import { startStripe } from './doubles/stripe-double.ts';
import { depsFor } from './receiver-world.ts';

export interface World {
  double: Double;
  clock: TestClock;
  receiver: Receiver;
  /** Another receiver with credentials that are wrong. */
  stranger: Receiver;
}

export interface WorldOptions extends Partial<DoubleOptions> {
  clock?: TestClock;
  /** What the meter there sums. */
  property?: string;
}

/** The names of the customers in each world. */
export const CUSTOMERS = ['acme', 'globex', 'initech'];
const TYPE = 'usage_ledger.usage.v1';

export const WORLDS: Record<string, (options?: WorldOptions) => Promise<World>> = {
  async stripe({ clock = testClock(), property = 'credits', ...options } = {}) {
    const meter = { id: 'mtr_1', eventName: 'usage_credits', formula: property === 'credits' ? 'sum' : 'count' };
    const double = await startStripe({ now: clock.now, apiKey: 'secret-1', meter, customers: CUSTOMERS, ...options });
    const deps = depsFor(double, clock);
    const create = (apiKey: string) =>
      createStripeReceiver({ token: apiKey, meter: 'mtr_1', streamUrl: double.url }, deps);
    return { double, clock, receiver: create('secret-1'), stranger: create('wrong') };
  },
  async metronome({ clock = testClock(), property = 'credits', ...options } = {}) {
    const metric = { id: 'metric-1', eventType: TYPE, property };
    const customers = CUSTOMERS.map((alias) => ({ id: `id-of-${alias}`, alias }));
    const double = await startMetronome({ now: clock.now, token: 'secret-1', metric, customers, ...options });
    const deps = depsFor(double, clock);
    const create = (token: string) => createMetronomeReceiver({ token, meter: 'metric-1', send: 'credits' }, deps);
    return { double, clock, receiver: create('secret-1'), stranger: create('wrong') };
  },
  async openmeter({ clock = testClock(), property = 'credits', ...options } = {}) {
    const meter = { slug: 'credits', eventType: TYPE, property };
    const double = await startOpenMeter({ now: clock.now, apiKey: 'secret-1', meter, ...options });
    const deps = depsFor(double, clock);
    const create = (apiKey: string) =>
      createOpenMeterReceiver({ token: apiKey, meter: 'credits', send: 'credits' }, deps);
    return { double, clock, receiver: create('secret-1'), stranger: create('wrong') };
  },
  async lago({ clock = testClock(), property = 'credits', ...options } = {}) {
    const metric = { code: 'credits', property };
    const double = await startLago({ now: clock.now, apiKey: 'secret-1', metric, ...options });
    const deps = depsFor(double, clock, '/api/v1');
    const create = (apiKey: string) => createLagoReceiver({ token: apiKey, meter: 'credits', send: 'credits' }, deps);
    return { double, clock, receiver: create('secret-1'), stranger: create('wrong') };
  },
};
