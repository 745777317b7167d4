import { isoTime } from '../../../core/clock.ts';
import { addPeriods, periodAt, periodStartMs } from '../../../core/period.ts';
import { latestPlausibleTime } from '../../../core/stored-time.ts';
import { and, asc, desc, eq, gte, lte, prepared, sql } from '../../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey } from '../../../ledger/store/schema/keys.ts';
import { runs } from '../../../ledger/store/schema/run-tables.ts';
import { periods } from '../../../ledger/store/schema/workspace-tables.ts';
import { findPeriod } from '../../../ledger/store/subjects.ts';
import { paceFromMs } from '../../forecast/pace.ts';
import type { PeriodLook } from './candidates.ts';
import type { RuleContext } from './rule-context.ts';

const { placeholder } = sql;

const periodsBetween = prepared((db) =>
  db
    .select({ periodKey: periods.periodKey })
    .from(periods)
    .where(and(gte(periods.periodKey, placeholder('from')), lte(periods.periodKey, placeholder('to'))))
    .orderBy(asc(periods.periodKey)),
);

const setFinalRun = prepared((db) =>
  db
    .update(periods)
    .set({ finalRunKey: sql`${placeholder('runKey')}` })
    .where(eq(periods.periodKey, placeholder('periodKey'))),
);

const lastToCover = prepared((db) => {
  const isApplied = and(eq(runs.workspaceKey, placeholder('workspaceKey')), eq(runs.status, 'applied').inlineParams());
  const covers = and(lte(runs.fromPeriod, placeholder('period')), gte(runs.toPeriod, placeholder('period')));
  const isBetween = and(gte(runs.startedAt, placeholder('from')), lte(runs.startedAt, placeholder('to')));
  const found = db
    .select({ runKey: runs.runKey })
    .from(runs)
    .where(and(isApplied, covers, isBetween));
  return found.orderBy(desc(runs.runKey)).limit(1);
});

/**
 * The periods that a run evaluates. Usually only tenants with changes are evaluated; some events require all tenants
 * of a period.
 */
export class RunPeriods {
  readonly #context: RuleContext;
  readonly current: number;
  readonly oldest: number;

  constructor(context: RuleContext, lookbackPeriods: number) {
    const { run, nowMs } = context.merged;
    this.#context = context;
    // At least the previous period is evaluated, even without lookback: it changes until it settles, and a jump may
    // show only then.
    const lookback = Math.max(1, lookbackPeriods);
    this.current = periodKeyOf(run.workspaceKey, periodAt(nowMs));
    this.oldest = periodKeyOf(run.workspaceKey, addPeriods(periodAt(nowMs), -lookback));
  }

  inReach(): number[] {
    const found = periodsBetween(this.#context.merged.connection).all({ from: this.oldest, to: this.current });
    return found.map(({ periodKey }) => periodKey);
  }

  /** Decides how to evaluate a period; null: the period is not evaluated. */
  lookAt(periodKey: number): PeriodLook | null {
    this.#reopenIfNotOver(periodKey);
    const { changed, run } = this.#context.merged;
    const settlesNow = this.#settlesNow(periodKey);
    const all = run.first || settlesNow || this.#paceBegins(periodKey) || this.#previousIsNew(periodKey);
    if (!all && !changed.has(periodKey) && !changed.has(periodKey - 1)) return null;
    const facts = this.#context.factsOf(periodKey);
    return { facts, all, settlesNow, isLate: facts.phase.settled && !settlesNow };
  }

  settle(periodKey: number): void {
    const { connection, run } = this.#context.merged;
    setFinalRun(connection).run({ periodKey, runKey: run.runKey });
  }

  /** Undoes the settling of a period that is not over: a run settled it while the clock ran ahead. */
  #reopenIfNotOver(periodKey: number): void {
    const { merged, factsOf } = this.#context;
    if (factsOf(periodKey).phase.over || findPeriod(merged.connection, periodKey)?.finalRunKey === null) return;
    setFinalRun(merged.connection).run({ periodKey, runKey: null });
  }

  #settlesNow(periodKey: number): boolean {
    const found = findPeriod(this.#context.merged.connection, periodKey);
    return found?.finalRunKey === null && this.#context.factsOf(periodKey).phase.settled;
  }

  /**
   * Reports whether this is the first run that is late enough in the period to forecast it. Tenants without changes
   * must be judged once in this run; later, their forecasts only fall.
   */
  #paceBegins(periodKey: number): boolean {
    const { factsOf, usageHistory, settings } = this.#context;
    const { phase } = factsOf(periodKey);
    if (phase.over) return false;
    const lastMs = usageHistory.lastRunMs();
    const lastElapsedMs = lastMs === null ? 0 : lastMs - periodStartMs(periodOfKey(periodKey));
    return settings.paceFractions.some((fraction) => {
      const fromMs = paceFromMs(phase.lengthMs, fraction);
      return lastElapsedMs < fromMs && phase.elapsedMs >= fromMs;
    });
  }

  /**
   * Reports whether this run is the first to read the previous period completely. Before this run, the period could not
   * be compared with it.
   */
  #previousIsNew(periodKey: number): boolean {
    const { merged, factsOf } = this.#context;
    if (!factsOf(periodKey).previousComplete) return false;
    const period = periodOfKey(periodKey - 1);
    const earlier = lastToCover(merged.connection).get({
      workspaceKey: merged.run.workspaceKey,
      period,
      from: isoTime(periodStartMs(periodOfKey(periodKey))),
      to: latestPlausibleTime(merged.nowMs),
    });
    return earlier === undefined;
  }
}
