import { isoTime } from '../../../core/clock.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { roundedSpanMs } from '../../forecast/run-moments.ts';
import type { UsageHistory } from '../../forecast/usage-history.ts';
import { perRun } from '../context/rule-context.ts';
import { OBSERVED_DAYS, type UseBefore } from './stopped.ts';

/** Days to read: the 28 days before the silence began, and ten days for the silence itself. */
const DAYS_READ = OBSERVED_DAYS + 10;

/**
 * Reads how tenants used credits before they fell silent. Only the last reading of each day counts, so that the time of
 * runs does not matter. Usage on days without a reading is counted on the next day with a reading.
 */
class UseReader {
  readonly #usageHistory: UsageHistory;
  /** End of each day's last run, earliest first; null until read. */
  #readings: readonly number[] | null = null;

  constructor(usageHistory: UsageHistory) {
    this.#usageHistory = usageHistory;
  }

  /** Returns the usage of a tenant, or of the whole workspace (null), in the 28 days before its last change. */
  before(periodKey: number, tenantKey: number | null, changedMs: number): UseBefore | null {
    const fromMs = changedMs - OBSERVED_DAYS * DAY_MS;
    const readings = [...this.#lastOfDays().filter((atMs) => atMs >= fromMs && atMs < changedMs), changedMs];
    const use: UseBefore = { days: 0, credits: 0n, spanMs: 0, longestPauseMs: 0 };
    let usedMs: number | null = null;
    let before: bigint | null = null;
    for (const atMs of readings) {
      const reached = this.#usageHistory.sinceStart(periodKey, tenantKey, atMs);
      if (reached === null) continue;
      if (before === null) use.spanMs = roundedSpanMs(atMs, changedMs);
      else if (reached > before) {
        use.days += 1;
        use.credits += reached - before;
        usedMs = atMs;
      } else if (usedMs !== null) use.longestPauseMs = Math.max(use.longestPauseMs, atMs - usedMs);
      before = reached;
    }
    return before === null ? null : use;
  }

  #lastOfDays(): readonly number[] {
    const { connection, workspaceKey, nowMs } = this.#usageHistory.sources;
    this.#readings ??= (
      connection
        .prepare(
          `SELECT max(finished_at) FROM runs WHERE workspace_key = ? AND applied_seq IS NOT NULL
             AND finished_at > ? AND finished_at < ? GROUP BY substr(finished_at, 1, 10) ORDER BY 1`,
        )
        .pluck()
        .all(workspaceKey, isoTime(nowMs - DAYS_READ * DAY_MS), isoTime(nowMs)) as string[]
    ).map((at) => Date.parse(at));
    return this.#readings;
  }
}

export const usageReaderOf = perRun(({ usageHistory }) => new UseReader(usageHistory));
