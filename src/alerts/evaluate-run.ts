import type { AlertSettings } from '../config/types.ts';
import { oncePerKey } from '../core/one-at-a-time.ts';
import { ageMs } from '../core/stored-time.ts';
import { RULES, type RuleName } from '../core/text/alert-words.ts';
import type { CreditPricer } from '../ledger/journal/charges/credit-pricer.ts';
import type { MergedRun } from '../ledger/journal/runs/apply-run.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { alertTransitions } from '../ledger/store/schema/alert-tables.ts';
import { and, count, eq, prepared, sql } from '../ledger/store/schema/drizzle.ts';
import { periodKeyOf } from '../ledger/store/schema/keys.ts';
import { tenantUsage } from '../ledger/store/schema/run-tables.ts';
import { NO_USAGE, type UsageFigures } from './figures/usage-figures.ts';
import { type KeptHistory, UsageHistory } from './forecast/usage-history.ts';
import { notifyChannels } from './outbox/notify-channels.ts';
import type { NotifyContext } from './pipeline/notify-context.ts';
import type { ChannelRoute } from './pipeline/route.ts';
import { findCandidates, type PeriodLook } from './rules/context/candidates.ts';
import { createPeriodFacts } from './rules/context/period-facts.ts';
import { createRuleContext, type RuleContext, type TenantFacts } from './rules/context/rule-context.ts';
import { attributeErrors, evaluateRules, type Faults } from './rules/context/rule-fault.ts';
import { RunPeriods } from './rules/context/run-periods.ts';
import { tenantSettings } from './rules/context/tenant-settings.ts';
import { judgeJob } from './rules/job-failed/detect.ts';
import { clear, UNDECIDED } from './rules/judgement.ts';
import type { UsageKind } from './rules/kind.ts';
import { type AlertSubject, type Observation, observation } from './rules/observation.ts';
import type { Detection, OpenAlert } from './rules/rule.ts';
import { isFinal, stopsReading, usageKind, usageRule, usageRulesWith } from './rules/rules.ts';
import { AlertBook } from './state/alert-book.ts';
import type { EvaluationResult } from './state/alert-change.ts';
import type { StoredAlert } from './state/alert-store.ts';
import { parseSnapshot } from './state/rule-snapshot.ts';

/** The settings for the evaluation of a run. */
export interface RunAlertSettings {
  rules: AlertSettings;
  /** Rules judge the current period and this many earlier ones; 0 counts as 1. */
  lookbackPeriods: number;
  /** A period's figures have settled this many hours after its end. */
  settleHours: number;
}

interface EvaluationSources {
  /** The channels that are notified. */
  routes: readonly ChannelRoute[];
  /** History that a replay keeps in memory; absent in a normal run. */
  kept?: KeptHistory | undefined;
  priceOf?: CreditPricer | null;
}

/**
 * Evaluates the rules for tenants that the run changed, for periods that settled since the last run, and for open
 * alerts. Stores the results and their notifications. Runs inside the transaction that applies the run, so that alerts
 * and the figures that they are about are stored together or not at all. A rule that throws raises `job_failed`.
 */
export function evaluateRun(
  merged: MergedRun,
  settings: RunAlertSettings,
  { routes, priceOf = null, kept }: EvaluationSources,
): EvaluationResult {
  const { connection, run, nowMs, appliedAt } = merged;
  const { workspaceKey, workspaceId, runKey, runId } = run;
  const open = () =>
    new AlertBook<NotifyContext>({
      connection,
      workspaceKey,
      workspaceId,
      runKey,
      runId,
      actor: 'run' as const,
      nowMs,
      seeding: run.first,
      at: appliedAt,
      routes,
      priceOf,
    });
  return evaluateRules(connection, {
    withoutFaulty(faults) {
      const book = open();
      new RunEvaluation(merged, settings, { book, faults, kept, priceOf }).evaluate();
      return finished(book, faults.size === 0 ? null : [...faults.values()].join('; '));
    },
    withoutAny: (fault) => finished(open(), fault),
  });
}

/** Raises the alert about failing rules, or ends it if `fault` is null; then notifies channels. */
function finished(book: AlertBook<NotifyContext>, fault: string | null): EvaluationResult {
  book.observe(judgeJob({ job: 'alerting', detail: fault }));
  return notifyChannels(book);
}

interface Evaluating {
  book: AlertBook;
  kept: KeptHistory | undefined;
  priceOf: CreditPricer | null;
  /** Rules that threw in this run. They are not evaluated again. */
  faults: Faults;
}

class RunEvaluation {
  readonly #merged: MergedRun;
  readonly #book: AlertBook;
  readonly #faults: Faults;
  readonly #open: readonly StoredAlert[];
  readonly #openByKey: ReadonlyMap<string, StoredAlert>;
  readonly #isRepeated: (alert: StoredAlert) => boolean;
  readonly #context: RuleContext;
  readonly #periods: RunPeriods;
  readonly #seen = new Set<string>();
  readonly #isReplay: boolean;

  constructor(merged: MergedRun, settings: RunAlertSettings, { book, faults, kept, priceOf }: Evaluating) {
    const { connection, run, nowMs } = merged;
    const { workspaceKey } = run;
    const { lookbackPeriods, settleHours } = settings;
    this.#merged = merged;
    this.#book = book;
    this.#faults = faults;
    this.#isReplay = kept !== undefined;
    this.#open = book.open();
    this.#openByKey = new Map(this.#open.map((alert) => [subjectKey(alert), alert]));
    const usageHistory = new UsageHistory({ connection, workspaceKey, nowMs, kept });
    this.#isRepeated = createRepeats(connection, usageHistory, nowMs);
    this.#context = createRuleContext({
      merged,
      usageHistory,
      priceOf,
      settings: tenantSettings(settings.rules),
      factsOf: createPeriodFacts(connection, { workspaceKey, nowMs, settleHours }),
      tenantId: oncePerKey((tenantKey: number) => book.tenantId(tenantKey)),
    });
    this.#periods = new RunPeriods(this.#context, lookbackPeriods);
  }

  evaluate(): void {
    // A complete run proves that the workspace can be read, so alerts about failed reading end first. Otherwise they
    // would inhibit the results of this run.
    for (const alert of this.#open) {
      if (stopsReading(alert.rule)) attributeErrors(alert.rule, () => this.#observe(withoutFigures(alert), alert));
    }
    // Stopped tenants are judged before new ones: a new tenant may be their successor.
    this.#judgeRules(usageRulesWith(({ inhibitedBy }) => inhibitedBy?.includes('new_id') === true));
    for (const periodKey of this.#periods.inReach()) {
      const look = this.#periods.lookAt(periodKey);
      if (look === null) continue;
      this.#inPeriod(look);
      // A period with a rule that threw is not marked as settled: the next run without an error evaluates all of its
      // tenants again.
      if (look.settlesNow && this.#faults.size === 0) this.#periods.settle(periodKey);
    }
    this.#judgeRules(usageRulesWith(({ inhibitedBy }) => inhibitedBy?.includes('new_id') !== true));
  }

  /** Judges the subjects for which the run gives the rules a reason, then the rules' open alerts. */
  #judgeRules(rules: readonly RuleName[]): void {
    for (const rule of rules) this.#inRun(rule);
    this.#reconsider(rules);
  }

  /** Evaluates one rule, unless it threw in this run; in that case its alerts stay unchanged. */
  #of<T>(name: RuleName, look: (rule: Detection) => T): T | null {
    const rule = usageRule(name)?.detection;
    return rule === undefined || this.#faults.has(name) ? null : attributeErrors(name, () => look(rule));
  }

  #inRun(name: RuleName): void {
    this.#of(name, (rule) => {
      for (const { periodKey, tenantKey, before } of rule.inRun?.(this.#context, this.#periods.current) ?? []) {
        this.#judge(name, tenantKey === null ? periodKey : this.#context.read(periodKey, tenantKey), before);
      }
    });
  }

  /** Judges subjects without an open alert in a period. Subjects with one are judged with the open alerts. */
  #inPeriod(look: PeriodLook): void {
    const { periodKey } = look.facts;
    const conditions = RULES.flatMap((name) => {
      const own = this.#of(name, (rule) => rule.candidates?.(this.#context, look) ?? null);
      return own === null ? [] : [{ name, own }];
    });
    const isNew = (rule: RuleName, tenantKey: number | null) =>
      !this.#openByKey.has(subjectKey({ rule, periodKey, tenantKey }));
    const all = conditions.map(({ own }) => own);
    for (const { tenant, fits } of findCandidates(this.#context, look, all)) {
      for (const [place, { name }] of conditions.entries()) {
        if (fits[place] && isNew(name, tenant.tenantKey)) this.#of(name, () => this.#judge(name, tenant));
      }
    }
    for (const name of RULES) {
      this.#of(name, (rule) => {
        for (const tenantKey of rule.inPeriod?.(this.#context, look) ?? []) {
          if (!isNew(name, tenantKey)) continue;
          this.#judge(name, tenantKey === null ? periodKey : this.#context.read(periodKey, tenantKey));
        }
      });
    }
  }

  /**
   * Judges a tenant, or the whole workspace if the subject is a period. Without an open alert, a result is recorded
   * only if the rule holds.
   */
  #judge(rule: RuleName, subject: TenantFacts | number, before?: UsageFigures): void {
    const { periodKey, tenantKey } = typeof subject === 'number' ? { periodKey: subject, tenantKey: null } : subject;
    const open = this.#openByKey.get(subjectKey({ rule, periodKey, tenantKey }));
    const seen = evaluateRule(this.#context, rule, subject, open === undefined ? null : knownOf(open), before);
    if (seen !== null && (open !== undefined || seen.judgement.verdict === 'holds')) this.#observe(seen);
  }

  /** Judges the open alerts of these rules again, except for subjects already judged in this run. */
  #reconsider(rules: readonly RuleName[]): void {
    for (const alert of this.#open) {
      const { rule: name, periodKey } = alert;
      if (!rules.includes(name) || periodKey === null) continue;
      this.#of(name, () => {
        if (!this.#seen.has(subjectKey(alert))) this.#again(alert, periodKey);
      });
    }
  }

  #again(alert: StoredAlert, periodKey: number): void {
    const kind = usageKind(alert.rule);
    if (this.#isForgotten(kind, alert, periodKey)) {
      this.#book.expire(alert);
      return;
    }
    if (this.#isReplay && this.#isSettledUnchanged(alert, periodKey)) return;
    const { tenantKey } = alert;
    const subject = tenantKey === null ? periodKey : this.#context.read(periodKey, tenantKey);
    const seen = evaluateRule(this.#context, alert.rule, subject, knownOf(alert)) ?? withoutFigures(alert);
    const isPast = seen.phase?.settled === true && kind?.levels?.settled === 'ends';
    this.#observe(isPast ? { ...seen, judgement: clear(true) } : seen, alert);
  }

  /**
   * Reports whether judging a settled alert again would change nothing, because no figure up to its month changed. This
   * holds only in a replay, whose settings are constant.
   */
  #isSettledUnchanged(alert: StoredAlert, periodKey: number): boolean {
    if (!isFinal(alert) || alert.state !== 'firing' || alert.clearRunKey !== null) return false;
    return [...this.#merged.changed.keys()].every((changed) => changed > periodKey);
  }

  /**
   * Reports whether an alert's period has left the window. For rules that compare two readings, the month in which the
   * alert last changed must have left it too.
   */
  #isForgotten(kind: UsageKind | null, alert: StoredAlert, periodKey: number): boolean {
    const changedIn = periodKeyOf(this.#merged.run.workspaceKey, alert.lastChangedAt.slice(0, 7));
    return Math.max(periodKey, kind?.compares === 'readings' ? changedIn : periodKey) < this.#periods.oldest;
  }

  #observe(seen: Observation, alert?: StoredAlert): void {
    const key = subjectKey(seen);
    this.#seen.add(key);
    const open = this.#openByKey.get(key);
    // A service may revert and repeat a change every night. The alert then stays open, so that it is notified once.
    const isEnd = usageKind(seen.rule)?.compares === 'readings' && seen.judgement.verdict === 'clear';
    const goesOn = isEnd && open !== undefined && this.#isRepeated(open);
    this.#book.observe(goesOn ? { ...seen, judgement: UNDECIDED } : seen, alert);
  }
}

function knownOf({ state, level, magnitude, previous, basis }: StoredAlert): OpenAlert {
  const predecessor = () => parseSnapshot(basis).predecessor;
  return { firing: state === 'pending' ? null : level, magnitude, previous, predecessor };
}

function withoutFigures({ rule, periodKey, tenantKey, cause }: StoredAlert): Observation {
  return observation({ rule, periodKey, tenantKey, cause, judgement: clear(true) });
}

function subjectKey({ rule, periodKey, tenantKey, cause = null }: AlertSubject): string {
  return `${rule}.${periodKey}.${tenantKey}.${cause}`;
}

/** Evaluates a rule for a tenant, or for the workspace in a period (a key); null if the rule has no result. */
export function evaluateRule(
  context: RuleContext,
  rule: RuleName,
  subject: TenantFacts | number,
  known: OpenAlert | null,
  before?: UsageFigures,
): Observation | null {
  const asked = usageRule(rule)?.detection;
  if (typeof subject === 'number') {
    const result = asked?.ofWorkspace?.(context, subject, known) ?? null;
    const { phase } = context.factsOf(subject);
    return result && observation({ rule, periodKey: subject, tenantKey: null, phase, ...result });
  }
  const { periodKey, tenantKey, current, previous } = subject;
  const result = asked?.ofTenant?.(context, subject, known, before) ?? null;
  const { phase } = context.factsOf(periodKey);
  return (
    result && observation({ rule, periodKey, tenantKey, phase, current: current ?? NO_USAGE, previous, ...result })
  );
}

/** An alert that has begun more than once ends only after its figures were unchanged for this long. */
const RECURRING_QUIET_MS = 7 * 86_400_000;

const timesFired = prepared((db) => {
  const isFired = and(eq(alertTransitions.alertKey, sql.placeholder('alertKey')), eq(alertTransitions.change, 'fired'));
  return db.select({ times: count() }).from(alertTransitions).where(isFired);
});

const lastChange = prepared((db) => {
  const { periodKey, tenantKey, changedRunKey } = tenantUsage;
  const isKey = and(eq(periodKey, sql.placeholder('periodKey')), eq(tenantKey, sql.placeholder('tenantKey')));
  return db.select({ runKey: changedRunKey }).from(tenantUsage).where(isKey);
});

/** Returns a function that reports whether an alert began more than once and its figures changed within a week. */
function createRepeats(
  connection: LedgerDb,
  usageHistory: UsageHistory,
  nowMs: number,
): (alert: { alertKey: number; periodKey: number | null; tenantKey: number | null }) => boolean {
  return ({ alertKey, periodKey, tenantKey }) => {
    if ((timesFired(connection).get({ alertKey })?.times ?? 0) < 2) return false;
    const runKey = lastChange(connection).get({ periodKey, tenantKey })?.runKey;
    // A run in progress has no end yet, so its changes count as made now.
    const changedMs = runKey === undefined ? null : usageHistory.endOf(runKey);
    return (ageMs(changedMs, nowMs) ?? 0) < RECURRING_QUIET_MS;
  };
}
