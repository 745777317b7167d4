import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import { prepared } from '../../ledger/store/query.ts';
import { adjustments } from '../../ledger/store/schema/close-tables.ts';
import { eq, sql } from '../../ledger/store/schema/drizzle.ts';
import type { Curves } from '../history/curves.ts';
import { paceIsTelling } from '../rules/jump.ts';
import type { AlertSubject, Observation } from '../rules/observation.ts';
import type { RuleName } from '../rules/rule.ts';
import { leastBudgeted } from './budgets.ts';
import { findCandidates, type RecentDays, type TenantFacts } from './candidates.ts';
import type { Judge } from './judge/judge.ts';
import type { PeriodFacts } from './period-facts.ts';
import type { PeriodLook } from './run-periods.ts';
import { entriesOfKind, findBudgeted, findRestated, findSilent, findTrends } from './searches.ts';
import type { TenantSettings } from './tenant-settings.ts';

interface Sources {
  merged: MergedRun;
  settings: TenantSettings;
  factsOf: (periodKey: number) => PeriodFacts;
  /** A tenant's figures of a period and of the one before. */
  read: (periodKey: number, tenantKey: number) => TenantFacts;
  curves: Curves;
  judge: Judge;
}

/** Who takes what is found: where no alert is open yet for a subject it asks what the rule says of it. */
export interface Finder {
  begin(subject: AlertSubject, judge: () => Observation | null): void;
  /** The same; of one that is open, whose measure `judge` gets, what is larger than that. */
  more(subject: AlertSubject, judge: (measure: bigint | null) => Observation): void;
  /** Of what the run itself has brought, whether an alert is open or not. */
  observe(seen: Observation): void;
}

const correctedBy = prepared((db) => {
  const { correctsPeriodKey: periodKey, tenantKey, runKey } = adjustments;
  const corrected = db.selectDistinct({ periodKey, tenantKey }).from(adjustments);
  return corrected.where(eq(runKey, sql.placeholder('runKey')));
});

/** Looks in what a run has changed for subjects that a rule may hold for. */
export class NewFindings {
  readonly #sources: Sources;
  readonly #finder: Finder;

  constructor(sources: Sources, finder: Finder) {
    this.#sources = sources;
    this.#finder = finder;
  }

  inPeriod(periodKey: number, { all, settlesNow }: PeriodLook): void {
    const { merged, settings, factsOf, judge } = this.#sources;
    const facts = factsOf(periodKey);
    const { phase } = facts;
    // What changes in a period that has settled is told as a restatement; where it makes a jump of the period, as that, too.
    const isLate = phase.settled && !settlesNow;
    const search = { facts, all, isLate, recentFrom: this.#recentFrom(facts) };
    for (const tenant of findCandidates(merged, settings, search)) {
      this.#begin('jump', tenant, () => judge.jump(tenant, null, true));
      if (isLate) continue;
      this.#begin('new_spend', tenant, () => judge.newSpend(tenant));
      if (phase.settled) this.#begin('drop', tenant, () => judge.drop(tenant, null));
    }
    if (isLate) return;
    const whole = { periodKey, tenantKey: null };
    this.#begin('workspace_jump', whole, () => judge.workspaceJump(periodKey, null));
    this.#budgets(facts);
    if (settlesNow) this.#trends(facts);
  }

  /** Tenants that used credits daily, and have stopped. */
  stopped(periodKey: number): void {
    const { merged, curves, judge, read } = this.#sources;
    for (const tenantKey of findSilent(merged, curves, periodKey)) {
      this.#begin('drop', { periodKey, tenantKey }, () => judge.drop(read(periodKey, tenantKey), null));
    }
  }

  /** Open periods whose counter this run has lowered. */
  fallenCounters(): void {
    const { merged, factsOf, judge, read } = this.#sources;
    for (const { periodKey, tenantKey, before } of entriesOfKind(merged, 'decreased')) {
      if (factsOf(periodKey).phase.over) continue;
      const subject = { rule: 'regression' as const, periodKey, tenantKey };
      this.#finder.more(subject, (lost) => judge.regression(read(periodKey, tenantKey), lost, before));
    }
  }

  restatedPeriods(): void {
    const { merged, curves, settings, judge, read } = this.#sources;
    const keys = correctedBy(merged.connection).all({ runKey: merged.run.runKey });
    for (const periodKey of merged.changed.keys()) {
      const found = findRestated(merged, curves, periodKey, settings.leastFloor);
      for (const tenantKey of found) keys.push({ periodKey, tenantKey });
    }
    for (const key of keys) this.#finder.observe(judge.restatement(read(key.periodKey, key.tenantKey)));
  }

  withdrawnRecords(): void {
    const { merged, judge, read } = this.#sources;
    for (const { periodKey, tenantKey, before } of entriesOfKind(merged, 'withdrawn')) {
      this.#finder.observe(judge.withdrawn(read(periodKey, tenantKey), before));
    }
  }

  /** Where the last four days begin in the entries, when a pace can be judged. */
  #recentFrom({ phase, periodKey }: PeriodFacts): RecentDays | null {
    const { settings, curves } = this.#sources;
    if (!settings.paceFractions.some((fraction) => paceIsTelling(phase, fraction))) return null;
    const found = curves.between(periodKey, 4);
    return found === null ? null : { ...found, isHere: curves.isHere };
  }

  #budgets({ periodKey, phase }: PeriodFacts): void {
    const { merged, settings, judge, read } = this.#sources;
    const tells = settings.paceFractions.some((fraction) => paceIsTelling(phase, fraction));
    const least = leastBudgeted(settings.budgets, tells ? phase.elapsedMs / phase.lengthMs : null);
    this.#begin('budget', { periodKey, tenantKey: null }, () => judge.workspaceBudget(periodKey));
    if (least === null) return;
    for (const tenantKey of findBudgeted(merged, periodKey, least)) {
      this.#begin('budget', { periodKey, tenantKey }, () => judge.tenantBudget(read(periodKey, tenantKey), true));
    }
  }

  #trends(facts: PeriodFacts): void {
    const { merged, settings, judge, read } = this.#sources;
    const { periodKey } = facts;
    for (const tenantKey of findTrends(merged.connection, facts, settings.leastFloor)) {
      this.#begin('trend', { periodKey, tenantKey }, () => judge.trend(read(periodKey, tenantKey)));
    }
  }

  #begin(rule: RuleName, { periodKey, tenantKey }: Omit<AlertSubject, 'rule'>, judge: () => Observation | null): void {
    this.#finder.begin({ rule, periodKey, tenantKey }, judge);
  }
}
