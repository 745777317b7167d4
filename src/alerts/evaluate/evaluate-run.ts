import type { AlertSettings } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { addPeriods, periodAt, periodStartMs } from '../../core/period.ts';
import type { LedgerConnection } from '../../ledger/file/open.ts';
import type { MergedRun } from '../../ledger/runs/apply-run.ts';
import { periodKeyOf, periodOfKey } from '../../ledger/schema/keys.ts';
import { AlertBook } from '../book/alert-book.ts';
import type { RunAlerts } from '../book/alert-change.ts';
import type { StoredAlert } from '../book/alert-rows.ts';
import type { ChannelRoute } from '../notify/routes.ts';
import { paceFromMs, paceIsTelling } from '../rules/jump.ts';
import { clear, type RuleName } from '../rules/rule.ts';
import { leastBudgeted } from './budgets.ts';
import { createFactsReader, findCandidates, type TenantFacts } from './candidates.ts';
import { Curves } from './curves.ts';
import { createJudge, type Judge } from './judge.ts';
import { type Observation, observation } from './observation.ts';
import { createPeriodFacts, type PeriodFacts } from './period-facts.ts';
import { entriesOfKind, findBudgeted, findRestated, findSilent, findTrends } from './searches.ts';
import { type TenantSettings, tenantSettings } from './tenant-settings.ts';

/** What a run needs to know to evaluate the rules; plain data, because it crosses threads. */
export interface RunAlertSettings {
  rules: AlertSettings;
  /** The channels that there are, with what each of them is told of. */
  channels: readonly ChannelRoute[];
  /** Rules speak of the current period and this many before it, at least of one. */
  lookbackPeriods: number;
  /** A period's figures have settled this many hours after its end. */
  settleHours: number;
}

/**
 * Evaluates the rules over what a run has changed, over periods that have settled since the last run, and over the
 * alerts that are open; stores the outcome with its notifications. Runs inside the transaction that publishes the run,
 * so an alert exists exactly when the figures behind it do. `history` is the ledger that has the entries of earlier runs;
 * a replay keeps none of its own.
 */
export function evaluateRun(
  merged: MergedRun,
  settings: RunAlertSettings,
  history: LedgerConnection = merged.connection,
): RunAlerts {
  const { run, nowMs, appliedAt } = merged;
  const { workspaceKey, workspaceId, runKey, runId } = run;
  const book = new AlertBook({
    ...{ connection: merged.connection, workspaceKey, workspaceId, runKey, runId, actor: 'run' as const, nowMs },
    ...{ seeding: run.first, at: appliedAt, channels: settings.channels },
  });
  new RunEvaluation(merged, settings, book, history).evaluate();
  return book.finish();
}

class RunEvaluation {
  readonly #merged: MergedRun;
  readonly #book: AlertBook;
  readonly #settings: TenantSettings;
  readonly #factsOf: (periodKey: number) => PeriodFacts;
  readonly #read: (periodKey: number, tenantKey: number) => TenantFacts;
  readonly #curves: Curves;
  readonly #judge: Judge;
  readonly #oldest: number;
  readonly #current: number;
  readonly #seen = new Set<string>();

  constructor(merged: MergedRun, settings: RunAlertSettings, book: AlertBook, history: LedgerConnection) {
    const { connection, run, nowMs } = merged;
    const { workspaceKey } = run;
    this.#merged = merged;
    this.#book = book;
    this.#settings = tenantSettings(settings.rules);
    this.#factsOf = createPeriodFacts(connection, { workspaceKey, nowMs, settleHours: settings.settleHours });
    this.#read = createFactsReader(connection);
    const tenantId = (tenantKey: number) => book.tenantId(tenantKey);
    this.#curves = new Curves({ connection, history, workspaceKey, nowMs });
    this.#judge = createJudge({
      ...{ connection, settings: this.#settings, factsOf: this.#factsOf, tenantId, curves: this.#curves, nowMs },
      lastEntryIdBefore: merged.lastEntryIdBefore,
    });
    // The period before moves until it has settled, so a jump may show only then: without lookback it counts too.
    const lookback = Math.max(1, settings.lookbackPeriods);
    this.#current = periodKeyOf(workspaceKey, periodAt(nowMs));
    this.#oldest = periodKeyOf(workspaceKey, addPeriods(periodAt(nowMs), -lookback));
  }

  evaluate(): void {
    const { connection, run } = this.#merged;
    const open = this.#book.open();
    // What a complete run proves wrong goes first, or it would keep quiet what the same run has found.
    for (const alert of open) {
      if (alert.periodKey === null && alert.rule !== 'publish_stale') this.#observe(withoutFigures(alert), alert);
    }
    const openKeys = new Set(open.map(subjectKey));
    const changed = this.#merged.changedPeriods;
    for (const periodKey of this.#periods()) {
      const settledNow = this.#settledNow(periodKey);
      const all = run.first || settledNow || this.#paceBegins(periodKey) || this.#previousIsNew(periodKey);
      if (all || changed.has(periodKey) || changed.has(periodKey - 1)) {
        this.#candidates(periodKey, { all, settledNow }, openKeys);
      }
      if (settledNow) this.#trends(periodKey, openKeys);
      if (settledNow) {
        connection.prepare('UPDATE periods SET final_run_key = ? WHERE period_key = ?').run(run.runKey, periodKey);
      }
    }
    this.#stopped(openKeys);
    this.#fallenCounters(openKeys);
    this.#restatedPeriods();
    this.#withdrawnRecords();
    for (const alert of open) {
      if (alert.periodKey === null || alert.rule === 'incident') continue;
      const seen = this.#reconsider(alert, alert.periodKey);
      if (seen === null) continue;
      if (this.#isForgotten(alert, alert.periodKey) || this.#isPast(alert, seen)) this.#book.expire(alert);
      else this.#observe(seen, alert);
    }
  }

  /** The periods in reach that the ledger has, the oldest first. */
  #periods(): number[] {
    return this.#merged.connection
      .prepare('SELECT period_key FROM periods WHERE period_key BETWEEN ? AND ? ORDER BY period_key')
      .pluck()
      .all(this.#oldest, this.#current) as number[];
  }

  #settledNow(periodKey: number): boolean {
    const final = this.#merged.connection
      .prepare('SELECT final_run_key FROM periods WHERE period_key = ?')
      .pluck()
      .get(periodKey);
    return final === null && this.#factsOf(periodKey).phase.settled;
  }

  /** Whether a pace can be judged since the last run: from then on it can only fall where nothing is used. */
  #paceBegins(periodKey: number): boolean {
    const { phase } = this.#factsOf(periodKey);
    if (phase.over) return false;
    const lastMs = this.#curves.lastRunMs();
    const lastElapsedMs = lastMs === null ? 0 : lastMs - periodStartMs(periodOfKey(periodKey));
    return this.#settings.paceFractions.some((fraction) => {
      const fromMs = paceFromMs(phase.lengthMs, fraction);
      return lastElapsedMs < fromMs && phase.elapsedMs >= fromMs;
    });
  }

  /** Whether this run is the first to have read the period before completely: until now there was no comparison. */
  #previousIsNew(periodKey: number): boolean {
    const { run, connection } = this.#merged;
    if (!this.#factsOf(periodKey).previousComplete) return false;
    const period = periodOfKey(periodKey - 1);
    const earlier = connection
      .prepare(
        `SELECT 1 FROM runs WHERE workspace_key = ? AND status = 'applied' AND from_period <= ? AND to_period >= ?
           AND started_at >= ? ORDER BY run_key DESC LIMIT 1`,
      )
      .get(run.workspaceKey, period, period, isoTime(periodStartMs(periodOfKey(periodKey))));
    return earlier === undefined;
  }

  #candidates(
    periodKey: number,
    { all, settledNow }: { all: boolean; settledNow: boolean },
    openKeys: ReadonlySet<string>,
  ): void {
    const { connection, lastEntryIdBefore } = this.#merged;
    const facts = this.#factsOf(periodKey);
    const { phase } = facts;
    // What changes in a period that has settled is a restatement, and told as one.
    if (phase.settled && !settledNow) return;
    const scope = all ? 'all' : { changedSince: lastEntryIdBefore };
    const found = findCandidates(connection, facts, this.#settings, scope, this.#recentFrom(facts));
    for (const tenant of found) {
      this.#begin('jump', tenant, openKeys, () => this.#judge.jump(tenant, null));
      this.#begin('new_spend', tenant, openKeys, () => this.#judge.newSpend(tenant));
      if (phase.settled) this.#begin('drop', tenant, openKeys, () => this.#judge.drop(tenant, null));
    }
    const whole = { periodKey, tenantKey: null };
    this.#begin('workspace_jump', whole, openKeys, () => this.#judge.workspaceJump(periodKey, null));
    this.#budgets(periodKey, openKeys);
  }

  /** Where the last four days begin in the entries, when a pace can be judged. */
  #recentFrom({ phase }: PeriodFacts): { entryId: number; isHere: boolean } | null {
    if (!this.#settings.paceFractions.some((fraction) => paceIsTelling(phase, fraction))) return null;
    const entryId = this.#curves.lastEntryBefore(4);
    return entryId === null ? null : { entryId, isHere: this.#curves.isHere };
  }

  #budgets(periodKey: number, openKeys: ReadonlySet<string>): void {
    const { phase } = this.#factsOf(periodKey);
    const tells = this.#settings.paceFractions.some((fraction) => paceIsTelling(phase, fraction));
    const least = leastBudgeted(this.#settings.budgets, tells ? phase.elapsedMs / phase.lengthMs : null);
    this.#begin('budget', { periodKey, tenantKey: null }, openKeys, () => this.#judge.workspaceBudget(periodKey));
    if (least === null) return;
    for (const tenantKey of findBudgeted(this.#merged, periodKey, least)) {
      const key = { periodKey, tenantKey };
      this.#begin('budget', key, openKeys, () => this.#judge.tenantBudget(this.#read(periodKey, tenantKey)));
    }
  }

  #trends(periodKey: number, openKeys: ReadonlySet<string>): void {
    const facts = this.#factsOf(periodKey);
    for (const tenantKey of findTrends(this.#merged.connection, facts, this.#settings.leastFloor)) {
      const key = { periodKey, tenantKey };
      this.#begin('trend', key, openKeys, () => this.#judge.trend(this.#read(periodKey, tenantKey)));
    }
  }

  /** Tenants that used credits daily, and have stopped. */
  #stopped(openKeys: ReadonlySet<string>): void {
    for (const tenantKey of findSilent(this.#merged, this.#curves, this.#current)) {
      const key = { periodKey: this.#current, tenantKey };
      this.#begin('drop', key, openKeys, () => this.#judge.drop(this.#read(this.#current, tenantKey), null));
    }
  }

  /** Open periods whose counter this run has lowered. */
  #fallenCounters(openKeys: ReadonlySet<string>): void {
    for (const { periodKey, tenantKey, before } of entriesOfKind(this.#merged, 'decreased')) {
      if (this.#factsOf(periodKey).phase.over) continue;
      const key = { periodKey, tenantKey };
      this.#begin('regression', key, openKeys, () =>
        this.#judge.regression(this.#read(periodKey, tenantKey), before, null),
      );
    }
  }

  #restatedPeriods(): void {
    const rows = this.#merged.connection
      .prepare('SELECT DISTINCT corrects_period_key, tenant_key FROM adjustments WHERE run_key = ?')
      .raw()
      .all(this.#merged.run.runKey) as [number, number][];
    for (const periodKey of this.#merged.changedPeriods) {
      const found = findRestated(this.#merged, this.#curves, periodKey, this.#settings.leastFloor);
      rows.push(...found.map((tenantKey): [number, number] => [periodKey, tenantKey]));
    }
    for (const [periodKey, tenantKey] of rows) this.#observe(this.#judge.restatement(this.#read(periodKey, tenantKey)));
  }

  #withdrawnRecords(): void {
    for (const { periodKey, tenantKey, before } of entriesOfKind(this.#merged, 'withdrawn')) {
      this.#observe(this.#judge.withdrawn(this.#read(periodKey, tenantKey), before));
    }
  }

  /** What the rule of an open alert says now; null when this run has looked at it already. */
  #reconsider(alert: StoredAlert, periodKey: number): Observation | null {
    if (this.#seen.has(subjectKey(alert))) return null;
    const firing = alert.state === 'pending' ? null : alert.stage;
    if (alert.tenantKey === null) {
      return alert.rule === 'budget'
        ? (this.#judge.workspaceBudget(periodKey) ?? withoutFigures(alert))
        : this.#judge.workspaceJump(periodKey, firing);
    }
    const tenant = this.#read(periodKey, alert.tenantKey);
    const before = { credits: alert.previousCredits ?? 0n, requests: alert.previousRequests ?? 0n };
    switch (alert.rule) {
      case 'drop':
        return this.#judge.drop(tenant, firing);
      case 'new_spend':
        return this.#judge.newSpend(tenant);
      case 'regression':
        return this.#judge.regression(tenant, before, alert.notifiedMeasure ?? 0n);
      case 'trend':
        return this.#judge.trend(tenant);
      case 'budget':
        return this.#judge.tenantBudget(tenant) ?? withoutFigures(alert);
      case 'restatement':
        return this.#judge.restatement(tenant);
      case 'withdrawn':
        return this.#judge.withdrawn(tenant, before);
      default:
        return this.#judge.jump(tenant, firing);
    }
  }

  /** Neither its period nor its last change lies in reach of the rules any more. */
  #isForgotten(alert: StoredAlert, periodKey: number): boolean {
    const changedIn = periodKeyOf(this.#merged.run.workspaceKey, alert.lastChangedAt.slice(0, 7));
    return Math.max(periodKey, changedIn) < this.#oldest;
  }

  /** What a month that has settled leaves behind: nothing that anybody could still do. */
  #isPast(alert: StoredAlert, seen: Observation): boolean {
    if (seen.phase?.settled !== true) return false;
    return alert.rule === 'regression' || (alert.rule === 'budget' && seen.judgement.verdict === 'clear');
  }

  /** A candidate matters only when its rule holds; alerts that are open are looked at with what they know. */
  #begin(
    rule: RuleName,
    { periodKey, tenantKey }: { periodKey: number; tenantKey: number | null },
    openKeys: ReadonlySet<string>,
    judge: () => Observation | null,
  ): void {
    if (openKeys.has(subjectKey({ rule, periodKey, tenantKey }))) return;
    const seen = judge();
    if (seen?.judgement.verdict === 'holds') this.#observe(seen);
  }

  #observe(seen: Observation, alert?: StoredAlert): void {
    this.#seen.add(subjectKey(seen));
    this.#book.observe(seen, alert);
  }
}

function subjectKey({ rule, periodKey, tenantKey }: Pick<Observation, 'rule' | 'periodKey' | 'tenantKey'>): string {
  return `${rule}.${periodKey}.${tenantKey}`;
}

function withoutFigures({ rule, periodKey, tenantKey }: StoredAlert): Observation {
  return observation({ rule, periodKey, tenantKey, judgement: clear(true) });
}
