import { addPeriods, type Period, periodAt } from '../../../src/core/period.ts';
import { DAY_MS, monthOf } from './calendar.ts';
import { YEAR_RULES } from './play.ts';
import { type Change, isNews, type Received, type Told, wasTold } from './told.ts';
import type { World } from './world.ts';

/** A share as it was counted. */
export interface Share {
  of: number;
  hits: number;
}

/** The longest and the one in the middle, and how many there were. */
export interface RiseDays {
  worst: number | null;
  median: number | null;
  count: number;
}

/** Forecasts against what came. */
export interface Foretold {
  /** Ranges in which the month's end was. */
  held: Share;
  /** The rest that was said, beside the one that came: the median. */
  restRatio: number | null;
}

/** What a year shows; the rows of the table. */
export interface Measures {
  seed: number;
  tenants: number;
  runs: number;
  seconds: number;
  /** Paces told that became certain or final: months without a bulge, and all. */
  pace: Share;
  paceWithBulges: Share;
  /** Jumps in months without a bulge that were told as pace before they were certain. */
  early: Share;
  /** Days from pace to certain, in the middle. */
  leadDays: number | null;
  /** What jumps were said to come to, by the level at which it was said. */
  foretold: Record<'likely' | 'happened', Foretold>;
  planted: Share;
  plantedByPromise: Share;
  missing: string[];
  /** Days until a rise to three times was told that began from the 10th to the 18th. */
  riseDays: RiseDays;
  /** The same of the two days before and after these, where the month came well above `T`. */
  riseDaysBeside: RiseDays;
  /** The same where it came barely to `T`, of which documentation promises nothing. */
  riseDaysBarely: RiseDays;
  notificationsADay: number;
  /** The same outside the months of bulges. */
  calmADay: number;
  worstDay: number;
  /** Notifications about a bulge's month until its second day: the most of any. */
  bulge: number;
  runaways: Share;
  duplicateIds: number;
  byRule: Record<string, number>;
}

/** Judges what was told against what the world knows. */
export function measure(world: World, told: Told, { seed, seconds }: { seed: number; seconds: number }): Measures {
  const { incidents, judgedFrom, calendar, service } = world;
  const lastPeriod = addPeriods(calendar.to, -1);
  const bulged = new Set(incidents.bulges.map(({ period }) => period));
  const judged = told.changes.filter(({ period }) => period >= judgedFrom && period <= lastPeriod);
  const jumps = groupBy(
    judged.filter((each) => each.rule === 'jump' && each.tenant !== null && !isMuted(each)),
    ({ tenant, period }) => `${tenant} ${period}`,
  );
  const pace: Share = { of: 0, hits: 0 };
  const paceWithBulges: Share = { of: 0, hits: 0 };
  const early: Share = { of: 0, hits: 0 };
  const leads: number[] = [];
  for (const changes of jumps.values()) {
    const [{ period }] = changes as [Change];
    const news = changes.filter(isNews);
    const first = news.find((each) => each.level === 'likely' && wasTold(each));
    const certain = news.find((each) => each.level !== 'likely');
    const isTrue = news.some((each) => each.level === 'settled') || (certain !== undefined && isLastingJump(changes));
    if (first !== undefined) {
      count(paceWithBulges, isTrue);
      if (!bulged.has(period)) count(pace, isTrue);
    }
    if (!isTrue || certain === undefined || bulged.has(period)) continue;
    count(early, first !== undefined && first.atMs < certain.atMs);
    if (first !== undefined && first.atMs < certain.atMs) leads.push((certain.atMs - first.atMs) / DAY_MS);
  }
  const planted: Share = { of: 0, hits: 0 };
  const plantedByPromise: Share = { of: 0, hits: 0 };
  const missing: string[] = [];
  const rises: Rise[] = [];
  for (const each of incidents.planted) {
    if (each.kind === 'runaway') continue;
    // A rise that leaves its month below the threshold is no jump by the documentation: nothing is promised of it.
    if ((each.riseDay !== null || each.kind === 'large') && !isJump(world, each)) continue;
    const firstMs = firstTold(told, each);
    count(planted, firstMs !== null);
    count(plantedByPromise, firstMs !== null && firstMs <= each.promisedMs);
    if (firstMs === null || firstMs > each.promisedMs) {
      const late = firstMs === null ? 'never' : `${((firstMs - each.onsetMs) / DAY_MS).toFixed(1)} days`;
      missing.push(`${each.kind} ${each.tenant} ${each.period}: ${late}`);
    }
    const large = monthOf(calendar, each.period).length * 300;
    const usual = service.finalCredits(each.tenant, addPeriods(each.period, -1));
    const shadowed = incidents.bulges.some(
      ({ period }) => each.period >= period && each.period <= addPeriods(period, 2),
    );
    if (each.riseDay !== null && usual >= large && !shadowed && firstMs !== null) {
      const wellAbove = service.finalCredits(each.tenant, each.period) >= thresholdOf(usual) * WELL_ABOVE;
      rises.push({ from: each.riseDay, wellAbove, days: (firstMs - each.onsetMs) / DAY_MS });
    }
  }
  const sent = told.messages.filter((each) => each.atOnce && periodAt(each.atMs) >= judgedFrom);
  const days = groupBy(sent, ({ atMs }) => String(Math.floor(atMs / DAY_MS)));
  const span = calendar.days - monthOf(calendar, judgedFrom).firstDay - monthOf(calendar, calendar.to).length + 6;
  const outside = [...days.values()].filter(([each]) => each !== undefined && !bulged.has(periodAt(each.atMs)));
  const bulgedDays = [...bulged].reduce((sum, period) => sum + monthOf(calendar, period).length, 0);
  const hundreds = world.tenants.length / 100;
  const runaways: Share = { of: 0, hits: 0 };
  for (const each of incidents.planted.filter(({ kind }) => kind === 'runaway')) {
    // It has run away once it stands at three times the bulge; a day later it must have been named.
    const named = told.changes.some(
      (change) =>
        wasTold(change) &&
        change.tenant === each.tenant &&
        change.period === each.period &&
        change.level !== 'likely' &&
        change.atMs <= each.onsetMs + 2 * DAY_MS,
    );
    count(runaways, named);
  }
  return {
    ...{ seed, tenants: world.tenants.length, runs: world.runsMs.length, seconds },
    ...{ pace, paceWithBulges, early, leadDays: median(leads), planted, plantedByPromise, missing },
    foretold: { likely: foretoldAt(world, judged, 'likely'), happened: foretoldAt(world, judged, 'happened') },
    riseDays: riseDaysOf(rises.filter(isInMiddle)),
    riseDaysBeside: riseDaysOf(rises.filter((rise) => isBesideMiddle(rise) && rise.wellAbove)),
    riseDaysBarely: riseDaysOf(rises.filter((rise) => isBesideMiddle(rise) && !rise.wellAbove)),
    notificationsADay: sent.length / span / hundreds,
    calmADay: outside.reduce((sum, { length }) => sum + length, 0) / (span - bulgedDays) / hundreds,
    worstDay: Math.max(0, ...outside.map((each) => each.length)) / hundreds,
    bulge: Math.max(0, ...incidents.bulges.map((each) => notificationsOfBulge(world, sent, each))),
    runaways,
    duplicateIds: told.duplicateIds,
    byRule: Object.fromEntries(
      [...groupBy(sent, ({ rule, event, level }) => `${rule} ${event} ${level}`)]
        .map(([key, list]): [string, number] => [key, list.length])
        .sort(),
    ),
  };
}

function foretoldAt({ service }: World, changes: readonly Change[], level: Change['level']): Foretold {
  const held: Share = { of: 0, hits: 0 };
  const ratios: number[] = [];
  for (const { rule, tenant, period, foretold, level: own } of changes) {
    if (rule !== 'jump' || tenant === null || foretold === null || own !== level) continue;
    const end = service.finalCredits(tenant, period);
    count(held, end >= foretold.low && end <= foretold.high);
    if (end > foretold.used) ratios.push((foretold.likely - foretold.used) / (end - foretold.used));
  }
  return { held, restRatio: median(ratios) };
}

/** `T = max(ratio x B, B + min_credits)`, as the documentation has it. */
export function thresholdOf(before: number): number {
  const { ratio, minCredits } = YEAR_RULES;
  return Math.max(ratio * before, before + minCredits);
}

function isJump({ service }: World, { tenant, period }: { tenant: string; period: Period }): boolean {
  return service.finalCredits(tenant, period) >= thresholdOf(service.finalCredits(tenant, addPeriods(period, -1)));
}

/** What a month's jump was in the end: certain, and not taken back. */
function isLastingJump(changes: readonly Change[]): boolean {
  return changes.findLast((each) => isNews(each) || each.change === 'resolved')?.change !== 'resolved';
}

function isMuted({ silentBecause }: Change): boolean {
  return silentBecause?.startsWith('silence:') === true || silentBecause === 'seed';
}

function firstTold(
  told: Told,
  { tenant, period, rules }: { tenant: string; period: Period; rules: readonly string[] },
) {
  const found = told.changes.find(
    (each) => each.tenant === tenant && each.period === period && rules.includes(each.rule) && wasTold(each),
  );
  return found?.atMs ?? null;
}

/** Who comes to so many times the threshold is told as soon at the edges of mid-month as in its middle. */
const WELL_ABOVE = 1.2;

/** A rise to three times: the day of the month from which on, and the days until it was told. */
interface Rise {
  from: number;
  wellAbove: boolean;
  days: number;
}

function isInMiddle({ from }: Rise): boolean {
  return from >= 10 && from <= 18;
}

function isBesideMiddle(rise: Rise): boolean {
  return rise.from >= 8 && rise.from <= 20 && !isInMiddle(rise);
}

function riseDaysOf(rises: readonly Rise[]): RiseDays {
  const days = rises.map((rise) => rise.days);
  return { worst: days.length === 0 ? null : Math.max(...days), median: median(days), count: days.length };
}

function notificationsOfBulge(
  { calendar, incidents }: World,
  sent: readonly Received[],
  { period, day }: { period: Period; day: number },
): number {
  const startMs = calendar.startMs + (monthOf(calendar, period).firstDay + day - 1) * DAY_MS;
  const own = new Set(incidents.planted.map(({ tenant }) => tenant));
  return sent.filter(
    (each) =>
      each.period === period &&
      ['jump', 'workspace_jump'].includes(each.rule) &&
      !each.tenants.every((tenant) => own.has(tenant ?? '')) &&
      each.atMs >= startMs &&
      each.atMs < startMs + 2 * DAY_MS,
  ).length;
}

function count(share: Share, hit: boolean): void {
  share.of += 1;
  if (hit) share.hits += 1;
}

export function groupBy<T>(list: readonly T[], keyOf: (each: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const each of list) {
    const key = keyOf(each);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [each]);
    else group.push(each);
  }
  return groups;
}

export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
