import { isoTime } from '../../core/clock.ts';
import { addPeriods, periodAt, periodStartMs } from '../../core/period.ts';
import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import { periodKeyOf, periodOfKey } from '../../ledger/store/schema/keys.ts';
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
    return this.#sources.merged.connection
      .prepare('SELECT period_key FROM periods WHERE period_key BETWEEN ? AND ? ORDER BY period_key')
      .pluck()
      .all(this.oldest, this.current) as number[];
  }

  lookAt(periodKey: number): PeriodLook | null {
    const { changedPeriods, run } = this.#sources.merged;
    const settlesNow = this.#settlesNow(periodKey);
    const all = run.first || settlesNow || this.#paceBegins(periodKey) || this.#previousIsNew(periodKey);
    const changed = changedPeriods.has(periodKey) || changedPeriods.has(periodKey - 1);
    return all || changed ? { all, settlesNow } : null;
  }

  /** Remembers that a run has found a period settled. */
  settle(periodKey: number): void {
    const { connection, run } = this.#sources.merged;
    connection.prepare('UPDATE periods SET final_run_key = ? WHERE period_key = ?').run(run.runKey, periodKey);
  }

  #settlesNow(periodKey: number): boolean {
    const final = this.#sources.merged.connection
      .prepare('SELECT final_run_key FROM periods WHERE period_key = ?')
      .pluck()
      .get(periodKey);
    return final === null && this.#sources.factsOf(periodKey).phase.settled;
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
    const earlier = merged.connection
      .prepare(
        `SELECT 1 FROM runs WHERE workspace_key = ? AND status = 'applied' AND from_period <= ? AND to_period >= ?
           AND started_at >= ? ORDER BY run_key DESC LIMIT 1`,
      )
      .get(merged.run.workspaceKey, period, period, isoTime(periodStartMs(periodOfKey(periodKey))));
    return earlier === undefined;
  }
}
