import { elapsedFraction, type Period, periodAt, periodFromIndex, periodIndex } from '../../core/period.ts';
import type { GenerateOptions } from './scenario.ts';

const FIRST_WORDS = [
  'acme',
  'aurora',
  'beacon',
  'birch',
  'cedar',
  'cobalt',
  'comet',
  'delta',
  'ember',
  'falcon',
  'granite',
  'harbor',
  'indigo',
  'juniper',
  'lumen',
  'meridian',
  'nimbus',
  'onyx',
  'pioneer',
  'quartz',
] as const;
const SECOND_WORDS = [
  'robotics',
  'analytics',
  'bakery',
  'clinics',
  'coffee',
  'energy',
  'farms',
  'foods',
  'freight',
  'games',
  'insurance',
  'labs',
  'logistics',
  'media',
  'motors',
  'optics',
  'outfitters',
  'retail',
  'studios',
  'travel',
] as const;

export interface GeneratedUsage {
  credits: number;
  requests: number;
}

/** A function that computes the usage of one tenant in a given period. */
export type PeriodReader = (tenantIndex: number) => GeneratedUsage;

export interface UsageGenerator {
  readonly tenants: number;
  readonly firstPeriod: Period;
  /**
   * Returns a function that computes the usage of a period. It depends only on options, start, period, time and tenant.
   */
  read(period: Period, nowMs: number): PeriodReader;
  /** Reports whether the usage of this period is final at this time. */
  isFinal(period: Period, nowMs: number): boolean;
}

/**
 * Returns the id of the generated tenant with this index, from 0. Ids are readable, distinct, and the same for every
 * seed.
 */
export function generatedTenantId(index: number): string {
  const size = FIRST_WORDS.length;
  const turn = Math.floor(index / size);
  const round = Math.floor(turn / size);
  const first = FIRST_WORDS[index % size];
  const second = SECOND_WORDS[(turn + index) % size];
  return round === 0 ? `${first}-${second}` : `${first}-${second}-${round + 1}`;
}

/** The credits of a tenant in the first month lie between a quarter of this value and four times this value. */
const BASE_CREDITS = 20_000;
const SPREAD = 4;
const MONTHLY_GROWTH = 0.03;
const VARIATION = 0.05;

/**
 * Creates the generator of one workspace. It stores only two numbers per tenant and computes records on demand, so the
 * memory it needs does not depend on the number of months.
 */
export function createGenerator(options: GenerateOptions, startedAtMs: number): UsageGenerator {
  const { seed, tenants, months, open_month: openMonth } = options;
  const firstIndex = periodIndex(periodAt(startedAtMs)) - months + 1;
  const levels = new Float64Array(tenants);
  const creditsPerRequest = new Float64Array(tenants);
  for (let index = 0; index < tenants; index += 1) {
    levels[index] = BASE_CREDITS * SPREAD ** (2 * unit(seed, index, 0) - 1);
    creditsPerRequest[index] = 2 + 6 * unit(seed, index, 1);
  }
  return {
    tenants,
    firstPeriod: periodFromIndex(firstIndex),
    isFinal: (period, nowMs) => openMonth !== 'by_clock' || elapsedFraction(period, nowMs) === 1,
    read(period, nowMs) {
      const index = periodIndex(period);
      const filledAtMs = openMonth === 'at_start' ? startedAtMs : nowMs;
      const filled = openMonth === 'full' ? 1 : elapsedFraction(period, filledAtMs);
      const growth = (1 + MONTHLY_GROWTH) ** (index - firstIndex);
      return (tenant) => {
        const varied = 1 + VARIATION * (2 * unit(seed, tenant, index + 2) - 1);
        const credits = (levels[tenant] ?? 0) * growth * varied * filled;
        return { credits: Math.floor(credits), requests: Math.floor(credits / (creditsPerRequest[tenant] ?? 1)) };
      };
    },
  };
}

/** Returns a number in [0, 1) that depends only on the three integers. */
function unit(seed: number, tenant: number, salt: number): number {
  return hash32(hash32(hash32(seed) ^ tenant) ^ salt) / 0x1_0000_0000;
}

/**
 * Hashes an integer of 32 bits. Different integers have different hashes (xor-shift and multiplication by odd
 * constants).
 */
export function hash32(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16) ^ 0x5bd1e995, 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
