import { DAY_MS } from '../calendar.ts';
import { boundsOf, creditsOf, daysOf, type Seen, type TenantSeen } from './seen.ts';

/** The settings of the year, as documentation names them. */
export interface OracleSettings {
  ratio: number;
  minCredits: number;
  settleHours: number;
}

/** `T = max(ratio x B, B + min_credits)`. */
export function thresholdOf(before: number, { ratio, minCredits }: OracleSettings): number {
  return Math.max(Math.ceil(ratio * before - 1e-9), before + minCredits);
}

/** What a tenant's month must come to for a jump; null where nothing can be compared. */
export function limitOf(seen: Seen, tenant: TenantSeen, month: number, settings: OracleSettings): number | null {
  const before = comparedWith(seen, tenant, month);
  return before === null ? null : thresholdOf(before, settings);
}

/** By how many times more than half of the tenants of the month before have grown so far. */
export function middleGrowth(seen: Seen, month: number): number {
  const growths = [...seen.tenants.values()].flatMap((tenant) => {
    const before = seen.credits(tenant, month - 1);
    return before > 0 ? [seen.credits(tenant, month) / before] : [];
  });
  return growths.sort((a, b) => b - a)[Math.floor(growths.length / 2)] ?? 0;
}

/** Fewer than ten days with usage in the month before, or two pauses of two weeks: one month says little about the next. */
function isIntermittent(tenant: TenantSeen, month: number): boolean {
  const dayOf = (atMs: number) => Math.floor(atMs / DAY_MS);
  const active = new Set((tenant.months.get(month - 1)?.at ?? []).map(dayOf));
  if (active.size < 10) return true;
  const all = [...tenant.months.values()].flatMap(({ at }) => at.map(dayOf)).sort((a, b) => a - b);
  return all.filter((day, place) => place > 0 && day - (all[place - 1] ?? day) > 14).length >= 2;
}

function highestOfLastThree(seen: Seen, tenant: TenantSeen, month: number): number {
  const months = Array.from({ length: 12 }, (_, back) => seen.credits(tenant, month - 1 - back));
  return Math.max(...months.filter((credits) => credits > 0).slice(0, 3));
}

/** Credits that a month is compared with: for an intermittent tenant the highest of its last three months with usage. */
export function comparedWith(seen: Seen, tenant: TenantSeen, month: number): number | null {
  const before = monthBefore(seen, tenant, month);
  const isByHabit = before !== null && tenant.first < month - 1 && isIntermittent(tenant, month);
  return isByHabit ? highestOfLastThree(seen, tenant, month) : before;
}

/** Credits of the month before; of a first one, what all of it would have been. */
function monthBefore(seen: Seen, tenant: TenantSeen, month: number): number | null {
  const before = seen.credits(tenant, month - 1);
  if (before <= 0 || tenant.first >= month) return null;
  if (tenant.first < month - 1) return before;
  const first = tenant.months.get(month - 1);
  if (first === undefined || first.byFirstRun) return null;
  // A first month began on the day on which it was seen first; at least a day counts.
  const active = Math.max(DAY_MS, boundsOf(month - 1)[1] - first.firstSeenMs);
  return Math.ceil((before * daysOf(month - 1) * DAY_MS) / active - 1e-9);
}

/** Whether what was used before would be a jump against what is used now; for a month that has settled. */
export function isDrop(seen: Seen, tenant: TenantSeen, month: number, settings: OracleSettings): boolean {
  if (tenant.first >= month - 1 || tenant.months.get(month)?.withdrawn === true) return false;
  const [current, before] = [seen.credits(tenant, month), seen.credits(tenant, month - 1)];
  if (before <= current || before < thresholdOf(current, settings)) return false;
  // What only returns from a jump is no drop.
  const earlier = monthBefore(seen, tenant, month - 1);
  const jumpedBefore = earlier !== null && before >= thresholdOf(earlier, settings);
  return !(jumpedBefore && thresholdOf(current, settings) > earlier);
}

/** Days after which who paused for none, one, two or three days is missed. */
const MISSED_AFTER = [3, 4, 5.5, 7];
const HOUR_MS = DAY_MS / 24;

/**
 * Since when a tenant has used nothing, what it used a day in the four weeks before, as far as they were read, and after how long it
 * is missed; null for who paused too long or used too little.
 */
export function silenceOf(
  seen: Seen,
  tenant: TenantSeen,
  month: number,
): { sinceMs: number; daily: number; missedAfterMs: number | null } | null {
  const own = [month, month - 1]
    .map((each) => tenant.months.get(each))
    .find((each) => each !== undefined && creditsOf(each) > 0);
  const sinceMs = own?.at.at(-1);
  if (sinceMs === undefined) return null;
  const lastOfDays = new Map<number, number>();
  for (const atMs of seen.runsMs) {
    if (atMs >= sinceMs - 28 * DAY_MS && atMs < sinceMs) lastOfDays.set(Math.floor(atMs / DAY_MS), atMs);
  }
  const [first = sinceMs, ...later] = [...lastOfDays.values(), sinceMs];
  const use = { days: 0, credits: 0, pauseMs: 0 };
  let before = first;
  let usedMs: number | null = null;
  for (const atMs of later) {
    const used = seen.used(tenant, before, atMs) ?? 0;
    if (used > 0) {
      use.days += 1;
      use.credits += used;
      usedMs = atMs;
    } else if (usedMs !== null) use.pauseMs = Math.max(use.pauseMs, atMs - usedMs);
    before = atMs;
  }
  const days = Math.max(0, Math.ceil((use.pauseMs - HOUR_MS) / DAY_MS));
  const missedAfter = use.days < 10 || use.credits < 1000 ? undefined : MISSED_AFTER[days];
  const daily = use.credits / Math.max(1, (sinceMs - first) / DAY_MS);
  return { sinceMs, daily, missedAfterMs: missedAfter === undefined ? null : missedAfter * DAY_MS };
}

/** The workspace as a whole in a month, as it stands now. */
export function totalOf(seen: Seen, month: number): { credits: number; tenants: number } {
  let credits = 0;
  let tenants = 0;
  for (const tenant of seen.tenants.values()) {
    const own = tenant.months.get(month);
    if (own === undefined || own.withdrawn) continue;
    tenants += 1;
    credits += creditsOf(own);
  }
  return { credits, tenants };
}
