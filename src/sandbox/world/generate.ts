import { elapsedFraction, type Period, periodAt, periodFromIndex, periodIndex } from '../../core/period.ts';
import type { GenerateOptions } from './scenario-schema.ts';

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

/** One jump, with its tenant as an index and its start on the usage clock (null: from the beginning). */
interface ResolvedJump {
  periodIndex: number;
  factor: number;
  requestsFactor: number;
  activeFromMs: number | null;
}

export interface GeneratedUsage {
  /** Safe integer. */
  credits: number;
  /** Safe integer. */
  requests: number;
}

/** The usage of one period at one instant, by tenant index. */
export type PeriodReader = (tenantIndex: number) => GeneratedUsage;

export interface UsageGenerator {
  readonly tenants: number;
  readonly firstPeriod: Period;
  /** Pure in (options, origin, period, instant, index): nothing depends on what was read before. */
  read(period: Period, nowMs: number): PeriodReader;
  /** True when the usage of this period will never change after this instant. */
  settled(period: Period, nowMs: number): boolean;
}

/** When the stand-in started: its usage clock then, in epoch milliseconds, and how fast that clock runs. */
export interface GeneratorOrigin {
  startedAtMs: number;
  speed: number;
}

/** The id of the generated tenant with this index, from 0: readable, distinct and the same for every seed. */
export function tenantName(index: number): string {
  const size = FIRST_WORDS.length;
  const turn = Math.floor(index / size);
  const round = Math.floor(turn / size);
  const first = FIRST_WORDS[index % size];
  const second = SECOND_WORDS[(turn + index) % size];
  return round === 0 ? `${first}-${second}` : `${first}-${second}-${round + 1}`;
}

/**
 * Builds the generator of one workspace. Holds two numbers per tenant and computes every record when it is asked for,
 * so its size does not depend on the number of months.
 */
export function createGenerator(options: GenerateOptions, origin: GeneratorOrigin): UsageGenerator {
  const { seed, tenants, base_credits: base, spread, variation } = options;
  const startIndex = periodIndex(periodAt(origin.startedAtMs));
  const firstIndex = startIndex - options.months + 1;
  const jumps = resolveJumps(options, origin, startIndex);
  const levels = new Float64Array(tenants);
  const creditsPerRequest = new Float64Array(tenants);
  for (let index = 0; index < tenants; index += 1) {
    levels[index] = base * (1 + spread) ** (2 * unit(seed, index, 0) - 1);
    creditsPerRequest[index] = 2 + 6 * unit(seed, index, 1);
  }

  return {
    tenants,
    firstPeriod: periodFromIndex(firstIndex),
    settled(period, nowMs) {
      if (origin.speed === 0) return true;
      const index = periodIndex(period);
      if (options.open_month === 'by_clock' && elapsedFraction(period, nowMs) < 1) return false;
      return [...jumps.values()]
        .flat()
        .every((jump) => jump.periodIndex !== index || (jump.activeFromMs ?? nowMs) <= nowMs);
    },
    read(period, nowMs) {
      const index = periodIndex(period);
      const filled = options.open_month === 'full' ? 1 : elapsedFraction(period, nowMs);
      const growth = (1 + options.monthly_growth) ** (index - firstIndex);
      return (tenant) => {
        const varied = 1 + variation * (2 * unit(seed, tenant, index + 2) - 1);
        const plain = (levels[tenant] ?? 0) * growth * varied * filled;
        let credits = plain;
        let requests = plain / (creditsPerRequest[tenant] ?? 1);
        for (const jump of jumps.get(tenant) ?? []) {
          if (jump.periodIndex !== index || (jump.activeFromMs !== null && nowMs < jump.activeFromMs)) continue;
          credits *= jump.factor;
          requests *= jump.requestsFactor;
        }
        return { credits: wholeNumber(credits), requests: wholeNumber(requests) };
      };
    },
  };
}

function resolveJumps(
  options: GenerateOptions,
  origin: GeneratorOrigin,
  startIndex: number,
): ReadonlyMap<number, ResolvedJump[]> {
  const resolved = new Map<number, ResolvedJump[]>();
  const indexes = new Map<string, number>();
  if (options.jumps.some((jump) => typeof jump.tenant === 'string')) {
    for (let index = 0; index < options.tenants; index += 1) indexes.set(tenantName(index), index);
  }
  for (const jump of options.jumps) {
    const tenant = typeof jump.tenant === 'number' ? jump.tenant : (indexes.get(jump.tenant) ?? -1);
    const own = resolved.get(tenant) ?? [];
    own.push({
      periodIndex: jump.period === 'current' ? startIndex : periodIndex(jump.period),
      factor: jump.factor,
      requestsFactor: jump.requests_factor,
      activeFromMs: jumpStart(jump, origin),
    });
    resolved.set(tenant, own);
  }
  return resolved;
}

function jumpStart(jump: GenerateOptions['jumps'][number], origin: GeneratorOrigin): number | null {
  if (jump.after !== undefined) return Date.parse(jump.after);
  if (jump.after_seconds === undefined) return null;
  return origin.startedAtMs + jump.after_seconds * 1_000 * origin.speed;
}

function wholeNumber(value: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value));
}

/** A number in [0, 1) that depends on nothing but the three integers. */
function unit(seed: number, tenant: number, salt: number): number {
  return hash32(hash32(hash32(seed) ^ tenant) ^ salt) / 0x1_0000_0000;
}

/** Spreads an integer over 32 bits, one to one (xor-shift and multiply by odd constants). */
export function hash32(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16) ^ 0x5bd1e995, 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) >>> 0;
}
