import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { periodStartMs } from '../../core/period.ts';
import { perConnection } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import { countUpTo } from './readings.ts';

const statementsOf = perConnection((history) => ({
  runs: history.prepare(
    `SELECT run_key AS runKey, first_entry_id AS firstEntryId, first_entry_id + entries - 1 AS lastEntryId FROM runs
     WHERE workspace_key = ? AND applied_seq IS NOT NULL AND first_entry_id IS NOT NULL
       AND finished_at >= ? AND finished_at < ? ORDER BY run_key`,
  ),
  added: history
    .prepare(
      `SELECT coalesce(sum(credits_delta), 0) FROM usage_entries
       WHERE entry_id BETWEEN @firstEntryId AND @lastEntryId AND +period_key = @periodKey`,
    )
    .safeIntegers()
    .pluck(),
  /** What applied runs have added to periods: it never changes, and is summed up once. */
  known: new Map<string, bigint>(),
}));

interface RunEntries {
  runKey: number;
  firstEntryId: number;
  lastEntryId: number;
}

/** Returns what all tenants together had come to in a period by an entry, of what was read until now. */
export function totalsOf(history: Database.Database, periodKey: number, nowMs: number): (entryId: number) => bigint {
  const { runs, added, known } = statementsOf(history);
  const since = isoTime(periodStartMs(periodOfKey(periodKey)));
  const rows = runs.all(workspaceKeyOf(periodKey), since, isoTime(nowMs)) as RunEntries[];
  let total = 0n;
  const totals = rows.map(({ runKey, ...entries }) => {
    const key = `${periodKey} ${runKey}`;
    const credits = known.get(key) ?? (added.get({ ...entries, periodKey }) as bigint);
    known.set(key, credits);
    total += credits;
    return total;
  });
  const lastEntryIds = Float64Array.from(rows, ({ lastEntryId }) => lastEntryId);
  return (entryId) => totals[countUpTo(lastEntryIds, entryId) - 1] ?? 0n;
}
