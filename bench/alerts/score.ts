import { addPeriods, type Period, periodAt } from '../../src/core/period.ts';
import type { Played } from '../../test/long/alert-year/play.ts';
import type { Told } from '../../test/long/alert-year/told.ts';
import { wasTold } from '../../test/long/alert-year/told.ts';
import type { World } from '../../test/long/alert-year/world.ts';
import { daysOf } from './days.ts';
import { RIVALS } from './rivals.ts';

const DAY_MS = 86_400_000;

/** What one way of telling jumps has told in a year, as counts: years are added up. */
export interface Score {
  name: string;
  /** Tenants' months that it told of, and those of them that were jumps in the end. */
  told: number;
  true: number;
  /** Jumps that there were, and those that it told of before they had happened. */
  jumps: number;
  before: number;
  /** Days from what it told to the jump, of each that it told before. */
  leads: number[];
  messages: number;
  /** Days times hundreds of tenants. */
  tenantDays: number;
}

/** A tenant's month that can be judged: when it had come to half as much again as the one before; null: never. */
type Truth = ReadonlyMap<string, number | null>;
type FirstTold = ReadonlyMap<string, number>;

/** Scores the program and its rivals on the same readings. */
export function scoreYear(world: World, { readings }: Pick<Played, 'readings'>, told: Told): Score[] {
  const truth = truthOf(world, readings);
  const days = [...daysOf(readings)];
  const isJudged = (atMs: number) => periodAt(atMs) >= world.judgedFrom;
  const judgedDays = readings.filter(({ atMs }) => isJudged(atMs));
  const spanMs = (judgedDays.at(-1)?.atMs ?? 0) - (judgedDays[0]?.atMs ?? 0);
  const tenantDays = (spanMs / DAY_MS) * (world.tenants.length / 100);
  const rivals = RIVALS.map(({ name, tells }) => {
    const first = new Map<string, number>();
    for (const [tenant, own] of days) {
      own.forEach(({ atMs, period }, place) => {
        const key = keyOf(tenant, period);
        if (isJudged(atMs) && !first.has(key) && tells(own.slice(0, place + 1))) first.set(key, atMs);
      });
    }
    return scoreOf(name, first, truth, { messages: first.size, tenantDays });
  });
  const first = new Map<string, number>();
  for (const change of told.changes) {
    const key = keyOf(change.tenant ?? '', change.period);
    if (change.rule === 'jump' && wasTold(change) && !first.has(key)) first.set(key, change.atMs);
  }
  const messages = told.messages.filter(({ rules, atMs }) => rules.includes('jump') && isJudged(atMs)).length;
  return [scoreOf('usage-ledger', first, truth, { messages, tenantDays }), ...rivals];
}

/** Only what can be compared counts, for everybody: the month before was not the tenant's first. */
function truthOf({ service, tenants, calendar, judgedFrom }: World, readings: Played['readings']): Truth {
  const truth = new Map<string, number | null>();
  const limits = new Map<string, number>();
  const months = calendar.months.map(({ period }) => period).filter((period) => period >= judgedFrom);
  for (const period of months.slice(0, -1)) {
    for (const { id } of tenants) {
      const [before, first] = [-1, -2].map((by) => service.finalCredits(id, addPeriods(period, by))) as [
        number,
        number,
      ];
      if (before <= 0 || first <= 0) continue;
      const limit = Math.max(1.5 * before, before + 1_000);
      const key = keyOf(id, period);
      truth.set(key, null);
      if (service.finalCredits(id, period) >= limit) limits.set(key, limit);
    }
  }
  for (const { atMs, records } of readings) {
    for (const { tenantId, period, credits } of records) {
      const key = keyOf(tenantId, period);
      if (truth.get(key) === null && credits >= (limits.get(key) ?? Number.POSITIVE_INFINITY)) truth.set(key, atMs);
    }
  }
  return truth;
}

function scoreOf(
  name: string,
  first: FirstTold,
  truth: Truth,
  { messages, tenantDays }: { messages: number; tenantDays: number },
): Score {
  const told = [...first].filter(([key]) => truth.has(key));
  const jumps = [...truth].filter(([, atMs]) => atMs !== null) as [string, number][];
  const leads = jumps.flatMap(([key, atMs]) => {
    const toldMs = first.get(key);
    return toldMs !== undefined && toldMs < atMs ? [(atMs - toldMs) / DAY_MS] : [];
  });
  const trueOnes = told.filter(([key]) => truth.get(key) !== null).length;
  const counts = { told: told.length, true: trueOnes, jumps: jumps.length, before: leads.length };
  return { name, ...counts, leads, messages, tenantDays };
}

function keyOf(tenant: string, period: Period): string {
  return `${tenant} ${period}`;
}
