import { isoTime } from '../../core/clock.ts';
import { addPeriods, periodAt, periodStartMs } from '../../core/period.ts';
import { latestKnown } from '../../core/stored-time.ts';
import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import { prepared } from '../../ledger/store/query.ts';
import { and, asc, desc, eq, gte, lte, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodKeyOf, periodOfKey } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { periods } from '../../ledger/store/schema/workspace-tables.ts';
import { findPeriod } from '../../ledger/store/subjects.ts';
import type { Curves } from '../history/curves.ts';
import { paceFromMs } from '../rules/jump.ts';
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

/** The last run that was begun between two times and has read a period. */
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
    const found = periodsBetween(this.#sources.merged.connection).all({ from: this.oldest, to: this.current });
    return found.map(({ periodKey }) => periodKey);
  }

  lookAt(periodKey: number): PeriodLook | null {
    this.#reopenIfNotOver(periodKey);
    const { changed, run } = this.#sources.merged;
    const settlesNow = this.#settlesNow(periodKey);
    const all = run.first || settlesNow || this.#paceBegins(periodKey) || this.#previousIsNew(periodKey);
    return all || changed.has(periodKey) || changed.has(periodKey - 1) ? { all, settlesNow } : null;
  }

  /** Remembers that a run has found a period settled. */
  settle(periodKey: number): void {
    const { connection, run } = this.#sources.merged;
    setFinalRun(connection).run({ periodKey, runKey: run.runKey });
  }

  /** A clock that was ahead found it settled. */
  #reopenIfNotOver(periodKey: number): void {
    const { merged, factsOf } = this.#sources;
    if (factsOf(periodKey).phase.over || findPeriod(merged.connection, periodKey)?.finalRunKey === null) return;
    setFinalRun(merged.connection).run({ periodKey, runKey: null });
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
    const earlier = lastToCover(merged.connection).get({
      ...{ workspaceKey: merged.run.workspaceKey, period },
      ...{ from: isoTime(periodStartMs(periodOfKey(periodKey))), to: latestKnown(merged.nowMs) },
    });
    return earlier === undefined;
  }
}
