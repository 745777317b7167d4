import { periodIndex } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import type { ServiceRecord } from '../service.ts';
import { type Change as AlertChange, isNews, type Told } from '../told.ts';
import type { World } from '../world.ts';
import { Findings, type OracleReport } from './findings.ts';
import { LedgerState } from './ledger-state.ts';
import {
  comparedWith,
  isDrop,
  limitOf,
  middleGrowth,
  type OracleSettings,
  silenceOf,
  thresholdOf,
  totalOf,
} from './month-rules.ts';
import { newIdsOf, type Pair, type Stop } from './renames.ts';
import { boundsOf, type Change, monthAt, Seen, type TenantSeen } from './seen.ts';

const HOUR_MS = 3_600_000;
const LOOKBACK = 2;
/** Nothing is foretold of a month before. */
const FORETOLD_FROM_MS = 5 * DAY_MS;

export interface OracleReading {
  atMs: number;
  from: string;
  records: readonly ServiceRecord[];
}

/**
 * Goes through a year once more with docs/alert-rules.md in hand and nothing of the program's rules: what each run has read says
 * which alerts must be told by then, and which may; every change of the alert log is held against that. What is foretold is not: that
 * is measured by what came of it, see `measure.ts`.
 */
export function holdAgainstDocumentation(
  world: World,
  told: Told,
  readings: Iterable<OracleReading>,
  settings: OracleSettings,
): OracleReport {
  const oracle = new Oracle(world, settings);
  const changes = Map.groupBy(told.changes, ({ atMs }) => atMs);
  for (const reading of readings) oracle.run(reading, changes.get(reading.atMs) ?? []);
  return oracle.findings.report();
}

class Oracle {
  readonly findings = new Findings();
  readonly #world: World;
  readonly #settings: OracleSettings;
  readonly #seen = new Seen();
  readonly #ledger = new LedgerState();
  /** What months had settled at, and what they were closed with: credits by tenant. */
  readonly #settled = new Map<number, ReadonlyMap<TenantSeen, number>>();
  readonly #closed = new Map<number, ReadonlyMap<TenantSeen, number>>();
  /** Who may have gone on under another id, and who under whose. */
  readonly #formers = new Set<string>();
  readonly #newcomers = new Map<string, Pair[]>();
  readonly #sure = new Map<string, Pair & { lastMs: number }>();
  constructor(world: World, settings: OracleSettings) {
    this.#world = world;
    this.#settings = settings;
  }

  run({ atMs, from, records }: OracleReading, changes: readonly AlertChange[]): void {
    const isFirst = this.#seen.runsMs.length === 0;
    if (!isFirst) this.#close(atMs);
    const current = monthAt(atMs);
    const changed = this.#seen.take(atMs, from, records);
    for (const change of changes) this.#ledger.take(change);
    if (isFirst) return;
    this.#stopped(current, atMs);
    for (let month = current - LOOKBACK; month <= current; month += 1) {
      if (month < this.#seen.firstMonth) continue;
      const settles = !this.#settled.has(month) && atMs >= boundsOf(month)[1] + this.#settings.settleHours * HOUR_MS;
      this.#months(month, settles, atMs);
      if (settles) this.#settled.set(month, this.#snapshot(month));
    }
    this.#readings(changed, atMs);
    for (const change of changes) this.#check(change, changed);
  }

  /** Finance closes months on their tenth day after the end. */
  #close(atMs: number): void {
    for (const { period } of this.#world.calendar.months) {
      const month = periodIndex(period);
      if (period > this.#world.incidents.closedTo || this.#closed.has(month)) continue;
      if (atMs >= boundsOf(month)[1] + 9 * DAY_MS) this.#closed.set(month, this.#snapshot(month));
    }
  }

  #snapshot(month: number): ReadonlyMap<TenantSeen, number> {
    return new Map([...this.#seen.tenants.values()].map((tenant) => [tenant, this.#seen.credits(tenant, month)]));
  }

  #months(month: number, settles: boolean, atMs: number): void {
    if (this.#settled.has(month)) return;
    for (const tenant of this.#seen.tenants.values()) {
      const subject = { tenant: tenant.id, month };
      const current = this.#seen.credits(tenant, month);
      const limit = limitOf(this.#seen, tenant, month, this.#settings);
      if (limit !== null && current >= limit) {
        this.findings.must(this.#ledger, { rule: 'jump', ...subject }, settles ? 'settled' : 'happened', atMs);
      }
      if (this.#isNewSpend(tenant, month)) {
        const level = this.#newcomers.has(tenant.id) ? 'likely' : 'happened';
        this.findings.must(this.#ledger, { rule: 'new_spend', ...subject }, level, atMs);
      }
      if (!settles) continue;
      if (!this.#formers.has(tenant.id) && isDrop(this.#seen, tenant, month, this.#settings)) {
        this.findings.must(this.#ledger, { rule: 'drop', ...subject }, 'settled', atMs);
      }
    }
    this.#workspace(month, settles, atMs);
  }

  #isNewSpend(tenant: TenantSeen, month: number): boolean {
    if (month - 1 <= this.#seen.firstMonth || this.#seen.credits(tenant, month) < this.#settings.minCredits)
      return false;
    const before = tenant.months.get(month - 1);
    if (before?.withdrawn === true || (this.#closed.get(month - 1)?.get(tenant) ?? 0) > 0) return false;
    return this.#seen.credits(tenant, month - 1) <= 0;
  }

  #workspace(month: number, settles: boolean, atMs: number): void {
    if (month - 1 <= this.#seen.firstMonth) return;
    const now = totalOf(this.#seen, month);
    const before = totalOf(this.#seen, month - 1).credits;
    if (now.tenants < 5 || before <= 0) return;
    if (now.credits < thresholdOf(before, this.#settings)) return;
    const subject = { rule: 'workspace_jump', tenant: null, month };
    this.findings.must(this.#ledger, subject, settles ? 'settled' : 'happened', atMs);
  }

  /** What two readings of one month say. */
  #readings(changed: readonly Change[], atMs: number): void {
    for (const change of changed) {
      const { tenant, month } = change;
      const subject = { tenant: tenant.id, month };
      if (isWithdrawn(change)) this.findings.must(this.#ledger, { rule: 'withdrawn', ...subject }, 'happened', atMs);
      if (isRegression(this.#seen, change, atMs, this.#settings.minCredits)) {
        this.findings.must(this.#ledger, { rule: 'regression', ...subject }, 'happened', atMs);
      }
      if (this.#isRestated(change)) {
        const level = this.#closed.has(month) ? 'settled' : 'happened';
        this.findings.must(this.#ledger, { rule: 'restatement', ...subject }, level, atMs);
      }
    }
  }

  #isRestated({ tenant, month, withdrawn }: Change): boolean {
    if (withdrawn) return false;
    const closed = this.#closed.get(month);
    const stated = (closed ?? this.#settled.get(month))?.get(tenant) ?? (this.#settled.has(month) ? 0 : null);
    if (stated === null) return false;
    const size = Math.abs(this.#seen.credits(tenant, month) - stated);
    return size >= this.#settings.minCredits && (closed !== undefined || size * 100 >= stated);
  }

  #stopped(current: number, atMs: number): void {
    for (const tenant of this.#seen.tenants.values()) {
      const silence = silenceOf(this.#seen, tenant, current);
      const missedAfterMs = silence?.missedAfterMs ?? null;
      if (silence === null || missedAfterMs === null) continue;
      const missedMs = silence.sinceMs + missedAfterMs;
      // Nobody is missed while nothing is read.
      const readMs = this.#seen.runsMs.find((each) => each >= missedMs - HOUR_MS) ?? atMs;
      const foundMs = Math.max(missedMs, readMs);
      if (atMs >= missedMs - HOUR_MS && atMs <= foundMs + 8 * DAY_MS)
        this.#renamed({ former: tenant.id, lastMs: silence.sinceMs, daily: silence.daily }, foundMs, atMs);
      // It is about the month in which it is found, within six hours and the next run.
      if (atMs < missedMs + 6 * HOUR_MS || atMs > missedMs + 30 * HOUR_MS || monthAt(missedMs) !== current) continue;
      if (this.#formers.has(tenant.id)) continue;
      this.findings.must(this.#ledger, { rule: 'drop', tenant: tenant.id, month: current }, 'likely', atMs);
    }
  }

  /** Who has stopped may go on as a newcomer; for sure, that is told of the newcomer within a day, and no stop. */
  #renamed(stop: Stop, foundMs: number, atMs: number): void {
    const isFirst = atMs < foundMs + HOUR_MS;
    for (const pair of newIdsOf(this.#seen, stop, monthAt(atMs))) {
      this.#formers.add(pair.former);
      const others = (this.#newcomers.get(pair.newcomer) ?? []).filter(({ former }) => former !== pair.former);
      this.#newcomers.set(pair.newcomer, [...others, pair]);
      if (isFirst && pair.isSure && others.length === 0) this.#sure.set(pair.former, { ...pair, lastMs: stop.lastMs });
    }
    const sure = this.#sure.get(stop.former);
    const newcomer = this.#seen.tenants.get(sure?.newcomer ?? '');
    if (sure === undefined || newcomer === undefined || sure.lastMs !== stop.lastMs || atMs < foundMs + DAY_MS) return;
    const isAlone = this.#newcomers.get(newcomer.id)?.length === 1;
    const month = newcomer.first;
    if (isAlone && this.#isNewSpend(newcomer, month)) this.findings.mustBeRenamed(this.#ledger, sure, month, atMs);
  }

  /** What people have muted of a tenant's month: `all`, or growth up to a plan. */
  #muteOf(tenant: string, month: number): 'silence' | 'plan' | null {
    const { plans, silences } = this.#world.incidents;
    const fits = (each: { tenant: string; period: string }) =>
      each.tenant === tenant && periodIndex(each.period) === month;
    if (silences.some(fits)) return 'silence';
    const own = this.#seen.tenants.get(tenant);
    const credits = own === undefined ? 0 : this.#seen.credits(own, month);
    return plans.some((plan) => fits(plan) && credits <= plan.upTo) ? 'plan' : null;
  }

  /** Holds one change of the log against what documentation allows at this moment. */
  #check(change: AlertChange, changed: readonly Change[]): void {
    const { rule, tenant: id, level, atMs } = change;
    const month = periodIndex(change.period);
    const alert = this.#ledger.of(rule, id, month);
    if (alert.seeded) return;
    const tenant = id === null ? null : (this.#seen.tenants.get(id) ?? null);
    const why =
      (isNews(change) ? this.#whyNot(change, tenant, month, changed) : this.#whyStill(change, tenant, month)) ??
      this.#whyMuted(change, month);
    if (why !== null) this.findings.undocumented({ ...change, atMs, level }, why);
  }

  /** Why documentation knows no such news now; null when it does. */
  #whyNot(change: AlertChange, tenant: TenantSeen | null, month: number, changed: readonly Change[]): string | null {
    const { rule, level, atMs } = change;
    const own = changed.find((each) => each.tenant === tenant && each.month === month);
    const [startMs, endMs] = boundsOf(month);
    const isForetold = atMs >= startMs + FORETOLD_FROM_MS && atMs < endMs;
    switch (rule) {
      case 'jump': {
        if (tenant === null) return 'no tenant';
        if (level === 'likely') return isForetold ? null : 'nothing is foretold of it now';
        const limit = limitOf(this.#seen, tenant, month, this.#settings);
        return limit !== null && this.#seen.credits(tenant, month) >= limit ? null : `below ${limit}`;
      }
      case 'workspace_jump': {
        if (level === 'likely') return isForetold ? null : 'nothing is foretold of it now';
        const before = totalOf(this.#seen, month - 1).credits;
        const limit = thresholdOf(before, this.#settings);
        return totalOf(this.#seen, month).credits >= limit ? null : `below ${limit}`;
      }
      case 'drop': {
        if (tenant === null) return 'no tenant';
        if (level === 'settled') return isDrop(this.#seen, tenant, month, this.#settings) ? null : 'no jump backwards';
        const silence = silenceOf(this.#seen, tenant, month);
        const missedAfterMs = silence?.missedAfterMs ?? null;
        return silence !== null && missedAfterMs !== null && atMs - silence.sinceMs >= missedAfterMs - HOUR_MS
          ? null
          : 'not silent for longer than it paused';
      }
      case 'new_spend':
        if (level === 'likely' && !this.#newcomers.has(tenant?.id ?? '')) return "it is nobody's new id";
        return tenant !== null && this.#isNewSpend(tenant, month) ? null : 'it had credits before, or has too few';
      case 'regression':
        return own !== undefined && isRegression(this.#seen, own, atMs, this.#settings.minCredits)
          ? null
          : 'its counter has not fallen';
      case 'restatement':
        return own !== undefined && this.#isRestated(own) ? null : 'it says what it said';
      case 'withdrawn':
        return own !== undefined && isWithdrawn(own) ? null : 'it is still listed';
      default:
        return 'no such rule in the year';
    }
  }

  /** Why documentation does not let this alert end now; null when it does. */
  #whyStill(change: AlertChange, tenant: TenantSeen | null, month: number): string | null {
    if (change.change !== 'resolved' || tenant === null || change.rule !== 'jump') return null;
    const limit = limitOf(this.#seen, tenant, month, this.#settings);
    return limit !== null && this.#seen.credits(tenant, month) >= limit ? `it stands above ${limit}` : null;
  }

  /** Its workspace has jumped, and it is no further above the month before than most may come to be: how far is foretold. */
  #isCommon(id: string, month: number, atMs: number): boolean {
    const tenant = this.#seen.tenants.get(id);
    if (tenant === undefined || this.#ledger.of('workspace_jump', null, month).state !== 'firing') return false;
    const [startMs, endMs] = boundsOf(month);
    const rest = atMs >= endMs ? 1 : (2 * (endMs - startMs)) / (atMs - startMs);
    const common = middleGrowth(this.#seen, month) * rest;
    const before = comparedWith(this.#seen, tenant, month) ?? this.#seen.credits(tenant, month - 1);
    return common >= 1.3 && this.#seen.credits(tenant, month) < thresholdOf(before * common, this.#settings);
  }

  /** Why nobody should have been kept from this news, or should have been; null when all is well. */
  #whyMuted(change: AlertChange, month: number): string | null {
    const { silentBecause: because, rule, tenant, atMs } = change;
    if (!isNews(change)) return null;
    if (rule === 'drop' && this.#formers.has(tenant ?? '')) return null;
    const mute = tenant === null ? null : this.#muteOf(tenant, month);
    const isMuted = mute === 'silence' || (mute === 'plan' && GROWTH.includes(rule));
    if (because === null) return isMuted ? `it was told in spite of a ${mute}` : null;
    if (rule === 'jump' && because.startsWith('inhibited:')) {
      return this.#isCommon(tenant ?? '', month, atMs) ? null : 'it goes beyond what is common, or nothing is';
    }
    if (because.startsWith('silence:')) return isMuted ? null : 'muted without a silence or plan';
    if (because === 'immaterial') return this.#whyMaterial(change, month);
    // Of one alert at one level there is news once a day, and none while one run has found its cause gone.
    return because === 'daily' || because === 'clearing' ? null : `muted because ${because}`;
  }

  /** Why growth had to be sent although it was called immaterial; null when it did not have to be. */
  #whyMaterial({ rule, tenant: id, period }: AlertChange, month: number): string | null {
    if (!GROWTH.includes(rule)) return `muted as immaterial, which is for growth`;
    if (!this.#ledger.of(rule, id, periodIndex(period)).isTold) return 'its beginning was called immaterial';
    const tenant = id === null ? null : (this.#seen.tenants.get(id) ?? null);
    const current = tenant === null ? totalOf(this.#seen, month).credits : this.#seen.credits(tenant, month);
    const before =
      tenant === null
        ? totalOf(this.#seen, month - 1).credits
        : (comparedWith(this.#seen, tenant, month) ?? this.#seen.credits(tenant, month - 1));
    const isMaterial = current - before >= CRITICAL_SHARE * totalOf(this.#seen, month - 1).credits;
    return isMaterial ? 'its increase is material' : null;
  }
}

/** Documented default of `critical_share`. */
const CRITICAL_SHARE = 0.005;
const GROWTH: readonly string[] = ['jump', 'new_spend', 'workspace_jump'];

function isWithdrawn({ withdrawn, before }: Change): boolean {
  return withdrawn && (before ?? 0) > 0;
}

/** The counter of an open month fell, by a hundredth or more. */
function isRegression(seen: Seen, { tenant, month, before, withdrawn }: Change, atMs: number, least: number): boolean {
  if (before === null || withdrawn || atMs >= boundsOf(month)[1]) return false;
  const fallen = before - seen.credits(tenant, month);
  return fallen >= least && fallen * 100 >= before;
}
