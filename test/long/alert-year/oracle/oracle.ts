import { periodIndex } from '../../../../src/core/period.ts';
import { DAY_MS } from '../calendar.ts';
import type { ServiceRecord } from '../service.ts';
import { type Change as AlertChange, isNews, type Told } from '../told.ts';
import type { World } from '../world.ts';
import { Findings, type OracleReport } from './findings.ts';
import { LedgerState } from './ledger-state.ts';
import { isDrop, limitOf, type OracleSettings, silenceOf, thresholdOf, totalOf } from './month-rules.ts';
import { atLeast, least, NO_PACE, paceOf, type Verdict } from './pace.ts';
import { newIdsOf, type Pair, type Stop } from './renames.ts';
import { boundsOf, type Change, monthAt, Seen, type TenantSeen } from './seen.ts';

const HOUR_MS = 3_600_000;
/** A pace is told once it has held for a day; the run at the same hour of the next day counts, a little early or late. */
const HELD_MS = DAY_MS - HOUR_MS / 2;
const LOOKBACK = 2;
const PACE_FROM_MS = 5 * DAY_MS;

export interface OracleReading {
  atMs: number;
  from: string;
  records: readonly ServiceRecord[];
}

/**
 * Goes through a year once more with docs/alert-rules.md in hand and nothing of the program's rules: what each run has read says
 * which alerts must be told by then, and which may; every change of the alert log is held against that.
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
  /** Since when a pace holds for sure, and since when it may. */
  readonly #paces = new Map<string, { sureMs: number | null; maybeMs: number | null; verdict: Verdict }>();
  /** Who may have gone on under another id, and who under whose. */
  readonly #formers = new Set<string>();
  readonly #newcomers = new Map<string, Pair[]>();
  readonly #sure = new Map<string, Pair & { lastMs: number }>();
  /** The open month as a run has found it: whether its pace can be judged now first, whom it has changed, who waited. */
  #open: { begins: boolean; changed: ReadonlySet<TenantSeen>; isCrowd: boolean } = {
    begins: false,
    changed: new Set(),
    isCrowd: false,
  };

  constructor(world: World, settings: OracleSettings) {
    this.#world = world;
    this.#settings = settings;
  }

  run({ atMs, from, records }: OracleReading, changes: readonly AlertChange[]): void {
    const isFirst = this.#seen.runsMs.length === 0;
    if (!isFirst) this.#close(atMs);
    const current = monthAt(atMs);
    const waited = this.#ledger.ofMonth(current).filter(({ state }) => state === 'pending').length;
    const lastMs = this.#seen.runsMs.at(-1) ?? atMs;
    const changed = this.#seen.take(atMs, from, records);
    for (const change of changes) this.#ledger.take(change);
    if (isFirst) return;
    this.#open = {
      // The first run that can judge a pace looks at everybody, each later one at those that it has changed.
      begins: lastMs < boundsOf(current)[0] + PACE_FROM_MS,
      changed: new Set(changed.flatMap(({ tenant, month }) => (month >= current - 1 ? [tenant] : []))),
      isCrowd: waited >= 5 && waited * 20 > this.#comparable(current),
    };
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
    const isOver = atMs >= boundsOf(month)[1];
    if (this.#settled.has(month)) return;
    for (const tenant of this.#seen.tenants.values()) {
      const subject = { tenant: tenant.id, month };
      const current = this.#seen.credits(tenant, month);
      const limit = limitOf(this.#seen, tenant, month, this.#settings);
      if (limit !== null && current >= limit) {
        this.findings.must(this.#ledger, { rule: 'jump', ...subject }, settles ? 'settled' : 'happened', atMs);
      } else if (limit !== null && !isOver) this.#pace(tenant, month, limit, atMs);
      if (this.#isNewSpend(tenant, month)) {
        const level = this.#newcomers.has(tenant.id) ? 'likely' : 'happened';
        this.findings.must(this.#ledger, { rule: 'new_spend', ...subject }, level, atMs);
      }
      if (!settles) continue;
      if (!this.#formers.has(tenant.id) && isDrop(this.#seen, tenant, month, this.#settings)) {
        this.findings.must(this.#ledger, { rule: 'drop', ...subject }, 'settled', atMs);
      }
    }
    this.#workspace(month, { settles, isOver, atMs });
  }

  #pace(tenant: TenantSeen, month: number, limit: number, atMs: number): void {
    const subject = { rule: 'jump', tenant: tenant.id, month };
    const known = this.#paces.get(paceKey(subject));
    const isLookedAt = this.#open.begins || this.#open.changed.has(tenant);
    const mayWait = isLookedAt || (known?.maybeMs ?? null) !== null;
    const { verdict, near, looked } = mayWait ? paceOf(this.#seen, tenant, month, limit) : NO_PACE;
    this.#hold(subject, { verdict, near, begins: isLookedAt ? least(verdict, looked) : 'no' }, atMs);
  }

  /**
   * Follows how long a pace has held; what has held for a day must be told, in a crowd what has held for two. `begins`:
   * this run has reason to look at who does not wait yet, and finds it ahead.
   */
  #hold(
    subject: { rule: string; tenant: string | null; month: number },
    { verdict, near, begins }: { verdict: Verdict; near: Verdict; begins: Verdict },
    atMs: number,
  ): void {
    const key = paceKey(subject);
    const { sureMs, maybeMs } = this.#paces.get(key) ?? { sureMs: null, maybeMs: null };
    const sure = sureMs === null ? begins === 'yes' : verdict === 'yes';
    const maybe = maybeMs === null ? begins !== 'no' : verdict !== 'no' || near !== 'no';
    const heldSinceMs = sure ? (sureMs ?? atMs) : null;
    this.#paces.set(key, { sureMs: heldSinceMs, maybeMs: maybe ? (maybeMs ?? atMs) : null, verdict });
    if (heldSinceMs === null || atMs - heldSinceMs < HELD_MS + (this.#open.isCrowd ? DAY_MS : 0)) return;
    this.findings.must(this.#ledger, subject, 'likely', atMs);
  }

  #comparable(month: number): number {
    const all = [...this.#seen.tenants.values()];
    const before = all.filter((tenant) => this.#seen.credits(tenant, month - 1) > 0).length;
    return Math.max(before, all.filter(({ months }) => months.get(month)?.withdrawn === false).length);
  }

  #isNewSpend(tenant: TenantSeen, month: number): boolean {
    if (month - 1 <= this.#seen.firstMonth || this.#seen.credits(tenant, month) < this.#settings.minCredits)
      return false;
    const before = tenant.months.get(month - 1);
    if (before?.withdrawn === true || (this.#closed.get(month - 1)?.get(tenant) ?? 0) > 0) return false;
    return this.#seen.credits(tenant, month - 1) <= 0;
  }

  #workspace(month: number, { settles, isOver, atMs }: { settles: boolean; isOver: boolean; atMs: number }): void {
    if (month - 1 <= this.#seen.firstMonth) return;
    const now = totalOf(this.#seen, month, null);
    const before = totalOf(this.#seen, month - 1, null).credits;
    if (now.tenants < 5 || before <= 0) return;
    const subject = { rule: 'workspace_jump', tenant: null, month };
    const limit = thresholdOf(before, this.#settings);
    if (now.credits >= limit) {
      this.findings.must(this.#ledger, subject, settles ? 'settled' : 'happened', atMs);
      return;
    }
    const [startMs] = boundsOf(month);
    const pointMs = boundsOf(month - 1)[0] + (atMs - startMs);
    if (isOver) return;
    const knows = atMs - startMs >= 5 * DAY_MS && (pointMs >= startMs || this.#seen.isRead(pointMs));
    const rest = before - totalOf(this.#seen, month - 1, Math.min(pointMs, startMs - 1)).credits;
    const heads = now.credits + Math.max(0, rest) / 2;
    const verdict = knows ? atLeast(heads, limit, 0.005) : 'no';
    const near = knows ? atLeast(heads, limit * 0.9, 0.005) : 'no';
    this.#hold(subject, { verdict, near, begins: verdict }, atMs);
  }

  /** What two readings of one month say. */
  #readings(changed: readonly Change[], atMs: number): void {
    for (const change of changed) {
      const { tenant, month } = change;
      const subject = { tenant: tenant.id, month };
      if (isWithdrawn(change)) this.findings.must(this.#ledger, { rule: 'withdrawn', ...subject }, 'happened', atMs);
      if (isRegression(this.#seen, change, atMs)) {
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
    return closed !== undefined ? size > 0 : size >= this.#settings.minCredits && size * 100 >= stated && size > 0;
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
        this.#renamed({ former: tenant.id, lastMs: silence.sinceMs, credits: silence.credits }, foundMs, atMs);
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
    const held = this.#paces.get(paceKey({ rule, month, tenant: change.tenant }));
    const own = changed.find((each) => each.tenant === tenant && each.month === month);
    const isHeld =
      held?.maybeMs != null && (change.change !== 'fired' || atMs - held.maybeMs >= HELD_MS) && held.verdict !== 'no';
    switch (rule) {
      case 'jump': {
        if (tenant === null) return 'no tenant';
        if (level === 'likely') return isHeld ? null : 'its past does not head there, or not for a day';
        const limit = limitOf(this.#seen, tenant, month, this.#settings);
        return limit !== null && this.#seen.credits(tenant, month) >= limit ? null : `below ${limit}`;
      }
      case 'workspace_jump': {
        if (level === 'likely') return isHeld ? null : 'the workspace does not head there, or not for a day';
        const before = totalOf(this.#seen, month - 1, null).credits;
        const limit = thresholdOf(before, this.#settings);
        return totalOf(this.#seen, month, null).credits >= limit ? null : `below ${limit}`;
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
        return own !== undefined && isRegression(this.#seen, own, atMs) ? null : 'its counter has not fallen';
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
    if (limit !== null && this.#seen.credits(tenant, month) >= limit) return `it stands above ${limit}`;
    return this.#paces.get(paceKey({ rule: 'jump', month, tenant: change.tenant }))?.verdict === 'yes' &&
      change.atMs < boundsOf(month)[1]
      ? 'it still heads there'
      : null;
  }

  /** Why nobody should have been kept from this news, or should have been; null when all is well. */
  #whyMuted(change: AlertChange, month: number): string | null {
    const { silentBecause: because, rule, tenant } = change;
    if (!isNews(change)) return null;
    if (rule === 'drop' && this.#formers.has(tenant ?? '')) return null;
    const mute = tenant === null ? null : this.#muteOf(tenant, month);
    const isMuted = mute === 'silence' || (mute === 'plan' && GROWTH.includes(rule));
    if (because === null) return isMuted ? `it was told in spite of a ${mute}` : null;
    if (because.startsWith('silence:')) return isMuted ? null : 'muted without a silence or plan';
    // Of one alert at one level there is news once a day, and none while one run has found its cause gone.
    return because === 'daily' || because === 'waning' ? null : `muted because ${because}`;
  }
}

function paceKey({ rule, tenant, month }: { rule: string; tenant: string | null; month: number }): string {
  return `${rule} ${month} ${tenant}`;
}

const GROWTH: readonly string[] = ['jump', 'new_spend', 'workspace_jump'];

function isWithdrawn({ withdrawn, before }: Change): boolean {
  return withdrawn && (before ?? 0) > 0;
}

/** The counter of an open month fell, by a hundredth or more. */
function isRegression(seen: Seen, { tenant, month, before, withdrawn }: Change, atMs: number): boolean {
  if (before === null || withdrawn || atMs >= boundsOf(month)[1]) return false;
  const fallen = before - seen.credits(tenant, month);
  return fallen > 0 && fallen * 100 >= before;
}
