import { isoTime } from '../../core/clock.ts';
import { addPeriods, periodAt, periodStartMs } from '../../core/period.ts';
import { latestKnown } from '../../core/stored-time.ts';
import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import { query } from '../../ledger/store/query.ts';
import { and, asc, desc, eq, gte, lte } from '../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { periods } from '../../ledger/store/schema/workspace-tables.ts';
import { findPeriod } from '../../ledger/store/subjects.ts';
import { paceFromMs } from '../rules/jump.ts';
import type { Curves } from './curves.ts';
import type { PeriodFacts } from './period-facts.ts';
import type { TenantSettings } from './tenant-settings.ts';

interface Sources {
  merged: MergedRun;
  lookbackPeriods: number;
  settings: TenantSettings;
  factsOf: (periodKey: number) => PeriodFacts;
  curves: Curves;
}

/** Why a run looks at a period: `all` of its tenants, or those alone whose figures it has changed; null: at nobody. */
export interface PeriodLook {
  all: boolean;
  /** This run is the first to find the period settled. */
  settlesNow: boolean;
}

/** The periods that a run looks at. Without reason to look at all tenants of one, only what changed can be news. */
export class RunPeriods {
  readonly #sources: Sources;
  /** Keys of the current period and of the oldest in reach. */
  readonly current: number;
  readonly oldest: number;

  constructor(sources: Sources) {
    const { run, nowMs } = sources.merged;
    this.#sources = sources;
    // The period before moves until it has settled, so a jump may show only then: without lookback it counts too.
    const lookback = Math.max(1, sources.lookbackPeriods);
    this.current = periodKeyOf(run.workspaceKey, periodAt(nowMs));
    this.oldest = periodKeyOf(run.workspaceKey, addPeriods(periodAt(nowMs), -lookback));
  }

  /** The periods in reach that the ledger has, the oldest first. */
  inReach(): number[] {
    const { periodKey } = periods;
    const found = query(this.#sources.merged.connection)
      .select({ periodKey })
      .from(periods)
      .where(and(gte(periodKey, this.oldest), lte(periodKey, this.current)));
    return found
      .orderBy(asc(periodKey))
      .all()
      .map((period) => period.periodKey);
  }

  lookAt(periodKey: number): PeriodLook | null {
    this.#reopenIfNotOver(periodKey);
    const { changedPeriods, run } = this.#sources.merged;
    const settlesNow = this.#settlesNow(periodKey);
    const all = run.first || settlesNow || this.#paceBegins(periodKey) || this.#previousIsNew(periodKey);
    const changed = changedPeriods.has(periodKey) || changedPeriods.has(periodKey - 1);
    return all || changed ? { all, settlesNow } : null;
  }

  /** Remembers that a run has found a period settled. */
  settle(periodKey: number): void {
    const { connection, run } = this.#sources.merged;
    query(connection).update(periods).set({ finalRunKey: run.runKey }).where(eq(periods.periodKey, periodKey)).run();
  }

  /** A clock that was ahead found it settled. */
  #reopenIfNotOver(periodKey: number): void {
    const { merged, factsOf } = this.#sources;
    if (factsOf(periodKey).phase.over || findPeriod(merged.connection, periodKey)?.finalRunKey === null) return;
    query(merged.connection).update(periods).set({ finalRunKey: null }).where(eq(periods.periodKey, periodKey)).run();
  }

  #settlesNow(periodKey: number): boolean {
    const found = findPeriod(this.#sources.merged.connection, periodKey);
    return found?.finalRunKey === null && this.#sources.factsOf(periodKey).phase.settled;
  }

  /** Whether a pace can be judged since the last run: from then on it can only fall where nothing is used. */
  #paceBegins(periodKey: number): boolean {
    const { factsOf, curves, settings } = this.#sources;
    const { phase } = factsOf(periodKey);
    if (phase.over) return false;
    const lastMs = curves.lastRunMs();
    const lastElapsedMs = lastMs === null ? 0 : lastMs - periodStartMs(periodOfKey(periodKey));
    return settings.paceFractions.some((fraction) => {
      const fromMs = paceFromMs(phase.lengthMs, fraction);
      return lastElapsedMs < fromMs && phase.elapsedMs >= fromMs;
    });
  }

  /** Whether this run is the first to have read the period before completely: until now there was no comparison. */
  #previousIsNew(periodKey: number): boolean {
    const { merged, factsOf } = this.#sources;
    if (!factsOf(periodKey).previousComplete) return false;
    const period = periodOfKey(periodKey - 1);
    const isApplied = and(eq(runs.workspaceKey, merged.run.workspaceKey), eq(runs.status, 'applied'));
    const covers = and(lte(runs.fromPeriod, period), gte(runs.toPeriod, period));
    const isAfter = and(
      gte(runs.startedAt, isoTime(periodStartMs(periodOfKey(periodKey)))),
      lte(runs.startedAt, latestKnown(merged.nowMs)),
    );
    const earlier = query(merged.connection).select({ runKey: runs.runKey }).from(runs);
    const complete = earlier.where(and(isApplied, covers, isAfter));
    return complete.orderBy(desc(runs.runKey)).limit(1).get() === undefined;
  }
}
