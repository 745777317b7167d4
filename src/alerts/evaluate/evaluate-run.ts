import type { AlertSettings } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { addPeriods, periodAt, periodStartMs } from '../../core/period.ts';
import type { MergedRun } from '../../ledger/runs/apply-run.ts';
import { ENTRY_KINDS, periodKeyOf, periodOfKey } from '../../ledger/schema/keys.ts';
import { AlertBook } from '../book/alert-book.ts';
import type { RunAlerts } from '../book/alert-change.ts';
import type { StoredAlert } from '../book/alert-rows.ts';
import type { ChannelRoute } from '../notify/routes.ts';
import { paceFromMs } from '../rules/jump.ts';
import { clear, type UsageFigures } from '../rules/rule.ts';
import { createFactsReader, findCandidates, type TenantFacts } from './candidates.ts';
import { createJudge, type Judge } from './judge.ts';
import { type Observation, observation } from './observation.ts';
import { createPeriodFacts, type PeriodFacts } from './period-facts.ts';
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
 * so an alert exists exactly when the figures behind it do.
 */
export function evaluateRun(merged: MergedRun, settings: RunAlertSettings): RunAlerts {
  const { run, nowMs, appliedAt } = merged;
  const { workspaceKey, workspaceId, runKey, runId } = run;
  const book = new AlertBook({
    ...{ connection: merged.connection, workspaceKey, workspaceId, runKey, runId, actor: 'run' as const, nowMs },
    ...{ seeding: run.first, at: appliedAt, channels: settings.channels },
  });
  new RunEvaluation(merged, settings, book).evaluate();
  return book.finish();
}

class RunEvaluation {
  readonly #merged: MergedRun;
  readonly #book: AlertBook;
  readonly #settings: TenantSettings;
  readonly #factsOf: (periodKey: number) => PeriodFacts;
  readonly #read: (periodKey: number, tenantKey: number) => TenantFacts;
  readonly #judge: Judge;
  readonly #oldest: number;
  readonly #current: number;
  readonly #seen = new Set<string>();

  constructor(merged: MergedRun, settings: RunAlertSettings, book: AlertBook) {
    const { connection, run, nowMs } = merged;
    const { workspaceKey } = run;
    this.#merged = merged;
    this.#book = book;
    this.#settings = tenantSettings(settings.rules);
    this.#factsOf = createPeriodFacts(connection, { workspaceKey, nowMs, settleHours: settings.settleHours });
    this.#read = createFactsReader(connection);
    const tenantId = (tenantKey: number) => book.tenantId(tenantKey);
    this.#judge = createJudge({
      ...{ connection, workspaceKey, settings: this.#settings, factsOf: this.#factsOf, tenantId },
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
    for (const alert of open) if (alert.periodKey === null) this.#observe(withoutFigures(alert), alert);
    const openKeys = new Set(open.map(subjectKey));
    const changed = this.#merged.changedPeriods;
    for (const periodKey of this.#periods()) {
      const settledNow = this.#settledNow(periodKey);
      const all = run.first || settledNow || this.#paceBegins(periodKey) || this.#previousIsNew(periodKey);
      if (all || changed.has(periodKey) || changed.has(periodKey - 1)) this.#candidates(periodKey, all, openKeys);
      if (settledNow) {
        connection.prepare('UPDATE periods SET final_run_key = ? WHERE period_key = ?').run(run.runKey, periodKey);
      }
    }
    this.#fallenCounters(openKeys);
    this.#restatedPeriods();
    this.#withdrawnRecords();
    for (const alert of open) {
      if (alert.periodKey === null || alert.rule === 'incident') continue;
      const seen = this.#reconsider(alert, alert.periodKey);
      if (seen === null) continue;
      if (this.#isForgotten(alert, alert.periodKey)) this.#book.expire(alert);
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
    const last = this.#merged.connection
      .prepare(
        "SELECT finished_at FROM runs WHERE workspace_key = ? AND status = 'applied' ORDER BY run_key DESC LIMIT 1",
      )
      .pluck()
      .get(this.#merged.run.workspaceKey) as string | undefined;
    const startMs = periodStartMs(periodOfKey(periodKey));
    const lastElapsedMs = last === undefined ? 0 : Date.parse(last) - startMs;
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

  #candidates(periodKey: number, all: boolean, openKeys: ReadonlySet<string>): void {
    const { connection, lastEntryIdBefore } = this.#merged;
    const facts = this.#factsOf(periodKey);
    const scope = all ? 'all' : { changedSince: lastEntryIdBefore };
    for (const tenant of findCandidates(connection, facts, this.#settings, scope)) {
      this.#begin(this.#judge.jump(tenant, null), openKeys);
      this.#begin(this.#judge.newSpend(tenant), openKeys);
      if (facts.phase.settled) this.#begin(this.#judge.drop(tenant), openKeys);
    }
    this.#begin(this.#judge.workspaceJump(periodKey, null), openKeys);
  }

  /** Open periods whose counter this run has lowered. */
  #fallenCounters(openKeys: ReadonlySet<string>): void {
    for (const { tenant, before } of this.#entriesOfKind('decreased')) {
      if (this.#factsOf(tenant.periodKey).phase.over) continue;
      this.#begin(this.#judge.regression(tenant, before, false), openKeys);
    }
  }

  #restatedPeriods(): void {
    const rows = this.#merged.connection
      .prepare('SELECT DISTINCT corrects_period_key, tenant_key FROM adjustments WHERE run_key = ?')
      .raw()
      .all(this.#merged.run.runKey) as [number, number][];
    for (const [periodKey, tenantKey] of rows) this.#observe(this.#judge.restatement(this.#read(periodKey, tenantKey)));
  }

  #withdrawnRecords(): void {
    for (const { tenant, before } of this.#entriesOfKind('withdrawn')) {
      this.#observe(this.#judge.withdrawn(tenant, before));
    }
  }

  /** The entries of this run of one kind: the tenant as it is now, and its figures before. */
  #entriesOfKind(kind: 'decreased' | 'withdrawn'): { tenant: TenantFacts; before: UsageFigures }[] {
    // Looking for them reads every entry of the run.
    if (this.#merged.counts[kind] === 0) return [];
    const rows = this.#merged.connection
      .prepare(
        `SELECT period_key, tenant_key, credits_after - credits_delta, requests_after - requests_delta
         FROM usage_entries WHERE entry_id > ? AND kind = ?`,
      )
      .safeIntegers()
      .raw()
      .all(this.#merged.lastEntryIdBefore, ENTRY_KINDS[kind]) as [bigint, bigint, bigint, bigint][];
    return rows.map(([periodKey, tenantKey, credits, requests]) => ({
      tenant: this.#read(Number(periodKey), Number(tenantKey)),
      before: { credits, requests },
    }));
  }

  /** What the rule of an open alert says now; null when this run has looked at it already. */
  #reconsider(alert: StoredAlert, periodKey: number): Observation | null {
    if (this.#seen.has(subjectKey(alert))) return null;
    const firing = alert.state === 'pending' ? null : alert.stage;
    if (alert.tenantKey === null) return this.#judge.workspaceJump(periodKey, firing);
    const tenant = this.#read(periodKey, alert.tenantKey);
    const before = { credits: alert.previousCredits ?? 0n, requests: alert.previousRequests ?? 0n };
    switch (alert.rule) {
      case 'drop':
        return this.#judge.drop(tenant);
      case 'new_spend':
        return this.#judge.newSpend(tenant);
      case 'regression':
        return this.#judge.regression(tenant, before, true);
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

  /** A candidate matters only when its rule holds; alerts that are open are looked at with what they know. */
  #begin(seen: Observation, openKeys: ReadonlySet<string>): void {
    if (seen.judgement.verdict === 'holds' && !openKeys.has(subjectKey(seen))) this.#observe(seen);
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
