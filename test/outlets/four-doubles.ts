import type { Double, DoubleOptions } from './doubles/double-server.ts';
import { startLago } from './doubles/lago-double.ts';
import { startMetronome } from './doubles/metronome-double.ts';
import { startOpenMeter } from './doubles/openmeter-double.ts';
import { startStripe } from './doubles/stripe-double.ts';

export const TENANTS = Array.from({ length: 500 }, (_, at) => `tenant-${at}`);
const TYPE = 'usage_ledger.usage.v1';

/** Each double with the settings of an outlet that sends there. */
export const DOUBLES: Record<
  string,
  (options: DoubleOptions) => Promise<{ double: Double; settings: { meter: string; url: string } }>
> = {
  async stripe(options) {
    const meter = { id: 'mtr_1', eventName: 'usage' };
    const double = await startStripe({ ...options, apiKey: 'token-1', meter, customers: TENANTS });
    return { double, settings: { meter: 'mtr_1', url: double.url } };
  },
  async metronome(options) {
    const metric = { id: 'metric-1', eventType: TYPE, property: 'credits' };
    const customers = TENANTS.map((alias) => ({ id: `id-of-${alias}`, alias }));
    const double = await startMetronome({ ...options, token: 'token-1', metric, customers });
    return { double, settings: { meter: 'metric-1', url: double.url } };
  },
  async openmeter(options) {
    const meter = { slug: 'credits', eventType: TYPE, property: 'credits' };
    const double = await startOpenMeter({ ...options, apiKey: 'token-1', meter });
    return { double, settings: { meter: 'credits', url: double.url } };
  },
  async lago(options) {
    const metric = { code: 'credits', property: 'credits' };
    const double = await startLago({ ...options, apiKey: 'token-1', metric });
    return { double, settings: { meter: 'credits', url: `${double.url}/api/v1` } };
  },
};

/** The sums of a double by the names that tenants have here, as numbers. */
export function sumsOf(double: Double): Record<string, bigint> {
  return Object.fromEntries(
    Object.entries(double.sums()).map(([key, sum]) => [key.replace('id-of-', ''), BigInt(sum)]),
  );
}
