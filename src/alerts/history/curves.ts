import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { onceEach } from '../../core/one-at-a-time.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { latestKnown } from '../../core/stored-time.ts';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import { and, desc, eq, isNotNull, lte, perConnection, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { periods } from '../../ledger/store/schema/workspace-tables.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { DAYS_BACK, type Past, readDays } from '../measures/forecast/past.ts';
import type { UsageFigures } from '../measures/judgement.ts';
import { countUpTo, keptReadings, type Readings, readingsOf } from './readings.ts';
import { keptRunTimes, LATEST_RUNS, type LastRead, RunMoments, type RunTimes, runTimesOf } from './run-moments.ts';

const DAY_MS = 86_400_000;

export interface CurveSources {
  /** The ledger as the rules see it: current state. */
  connection: Database.Database;
  workspaceKey: number;
  nowMs: number;
  /** What is kept of the history; absent: each is looked up in it. */
  kept?: KeptHistory | undefined;
}

export interface KeptHistory {
  readings: Readings;
  runs: RunTimes;
  /** First periods of tenants, until a run brings new records. */
  firstPeriods: Map<number, number | null>;
}

export function keepHistory(history: Database.Database, workspaceKey: number): KeptHistory {
  return { readings: keptReadings(history), runs: keptRunTimes(history, workspaceKey), firstPeriods: new Map() };
}

/** The past of tenants, one seek in the entries' index a reading; what runs had read by a moment is looked up once. */
export class Curves {
  readonly sources: CurveSources;
  readonly #moments: RunMoments;
  readonly #readings: Readings;
  readonly #firstPeriods: Map<number, number | null>;
  /** What was read of the tenant that was looked at last, by period: as it stands now, and by last entry. */
  #lastRead: { tenantKey: number | null; periods: Map<number, Reached> } = { tenantKey: 0, periods: new Map() };
  readonly #statements;

  constructor(sources: CurveSources) {
    const { connection, workspaceKey, nowMs, kept } = sources;
    this.sources = sources;
    this.#moments = new RunMoments(kept?.runs ?? runTimesOf(connection, workspaceKey), nowMs);
    this.#readings = kept?.readings ?? readingsOf(connection);
    this.#firstPeriods = kept?.firstPeriods ?? new Map();
    this.#statements = {
      state: figuresReader(connection),
      // Of a run whose clock was ahead, those after it show how late it was at most.
      ends: connection
        .prepare(
          `SELECT CASE WHEN min(run_key) = @runKey THEN min(finished_at) END FROM (
             SELECT run_key, finished_at FROM runs
             WHERE workspace_key = @workspaceKey AND run_key >= @runKey AND status = 'applied'
             ORDER BY run_key LIMIT ${LATEST_RUNS})`,
        )
        .pluck(),
      endBefore: connection
        .prepare(
          `SELECT finished_at FROM runs WHERE workspace_key = ? AND run_key < ? AND status = 'applied'
           ORDER BY run_key DESC LIMIT 1`,
        )
        .pluck(),
      firstRun: connection
        .prepare(
          `SELECT r.finished_at FROM workspaces w JOIN runs r ON r.run_key = w.first_run_key
           WHERE w.workspace_key = ? AND r.status = 'applied'`,
        )
        .pluck(),
      firstPeriod: connection
        .prepare(
          `SELECT p.period_key FROM periods p JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = ?
           WHERE p.workspace_key = ? ORDER BY p.period LIMIT 1`,
        )
        .pluck(),
    };
  }

  /**
   * Where a moment of a period, so many days ago, lies between two readings, for conditions in SQL: the last entry of each,
   * and how much of the way from the one to the other has passed. `later` is null for what stands now. Null without any
   * reading by then.
   */
  between(periodKey: number, daysAgo: number): { earlier: number; later: number | null; passed: number } | null {
    const { nowMs } = this.sources;
    const atMs = nowMs - daysAgo * DAY_MS;
    const place = this.#moments.placeOf(atMs);
    if (place === null) return null;
    const { earlier, later } = place;
    if (later === null) return { earlier: earlier.lastEntryId, later: null, passed: 0 };
    const fromMs = Math.max(earlier.atMs, this.#monthOf(periodKey).startMs);
    const passed = later.atMs <= fromMs ? 0 : Math.max(0, (atMs - fromMs) / (later.atMs - fromMs));
    return { earlier: earlier.lastEntryId, later: later.atMs >= nowMs ? null : later.lastEntryId, passed };
  }

  /** The first period of a tenant, and so likely a partial one; null when it has none. */
  firstPeriodKey(tenantKey: number): number | null {
    const known = this.#firstPeriods.get(tenantKey);
    if (known !== undefined) return known;
    const found = this.#statements.firstPeriod.get(tenantKey, this.sources.workspaceKey) as number | undefined;
    this.#firstPeriods.set(tenantKey, found ?? null);
    return found ?? null;
  }

  /** When a run was applied; null for one that is under way. */
  readonly endOf = onceEach((runKey: number): number | null => {
    const { workspaceKey } = this.sources;
    const finishedAt = this.#statements.ends.get({ runKey, workspaceKey }) as string | null;
    return finishedAt === null ? null : Date.parse(finishedAt);
  });

  firstRunMs(): number | null {
    const finishedAt = this.#statements.firstRun.get(this.sources.workspaceKey) as string | undefined;
    return finishedAt === undefined ? null : Date.parse(finishedAt);
  }

  /** When the run before another was applied: what that one saw first was used since then. */
  readonly endBefore = onceEach((runKey: number): number | null => {
    const finishedAt = this.#statements.endBefore.get(this.sources.workspaceKey, runKey) as string | undefined;
    return finishedAt === undefined ? null : Date.parse(finishedAt);
  });

  /** When the last run before this one was applied whose time is known; null when there is none. */
  lastRunMs(): number | null {
    const { connection, workspaceKey, nowMs } = this.sources;
    const run = lastApplied(connection).get({ workspaceKey, latest: latestKnown(nowMs) });
    return run === undefined ? null : Date.parse(run.finishedAt ?? '');
  }

  /** The last entry up to the run that found a period settled; null when no earlier run did. */
  settledEntry(periodKey: number): number | null {
    const { connection, workspaceKey } = this.sources;
    const runKey = settledBy(connection).get({ periodKey })?.runKey;
    if (runKey === undefined) return null;
    const run = lastWithEntries(connection).get({ workspaceKey, runKey });
    return run === undefined ? 0 : (run.firstEntryId ?? 0) + run.entries - 1;
  }

  /** The figures that a period had when an earlier run found it settled; null when none did. */
  settledFigures(periodKey: number, tenantKey: number): UsageFigures | null {
    const lastEntryId = this.settledEntry(periodKey);
    if (lastEntryId === null) return null;
    return this.#readings(periodKey, tenantKey, [lastEntryId])[0] ?? null;
  }

  /** Credits in a period as they had been read by a moment; null when nothing had been read by then. */
  reading(periodKey: number, tenantKey: number | null, atMs: number): bigint | null {
    const { startMs, endMs } = this.#monthOf(periodKey);
    if (atMs <= startMs) return 0n;
    if (atMs >= this.sources.nowMs || atMs >= endMs) return this.#state(periodKey, tenantKey);
    const place = this.#moments.placeOf(atMs);
    if (place === null) return null;
    const { earlier, later } = place;
    const before = this.#readAt(periodKey, tenantKey, earlier);
    if (later === null) return before;
    // Readings of a day that nobody read: on a straight line from the one to the other, from the period's start on.
    const fromMs = Math.max(earlier.atMs, startMs);
    const toMs = Math.min(later.atMs, endMs);
    const after =
      later.atMs >= this.sources.nowMs ? this.#state(periodKey, tenantKey) : this.#readAt(periodKey, tenantKey, later);
    return toMs <= fromMs ? before : before + ((after - before) * BigInt(atMs - fromMs)) / BigInt(toMs - fromMs);
  }

  /** The past of a tenant, or of the workspace as a whole, seen from the open period. */
  of(periodKey: number, tenantKey: number | null): Past {
    const { nowMs } = this.sources;
    const reached = (daysAgo: number) => this.sinceStart(periodKey, tenantKey, nowMs - daysAgo * DAY_MS);
    const months = [periodKey, periodKey - 1, periodKey - 2].map((key) => this.#monthOf(key));
    const elapsedMs = nowMs - this.#monthOf(periodKey).startMs;
    const rest = (key: number): number | null => {
      const then = this.reading(key, tenantKey, this.#monthOf(key).startMs + elapsedMs);
      return then === null ? null : Math.max(0, Number(this.#state(key, tenantKey) - then));
    };
    return {
      days: readDays(reached),
      elapsed: elapsedMs / DAY_MS,
      lengths: months.map(({ startMs, endMs }) => (endMs - startMs) / DAY_MS) as [number, number, number],
      rests: [rest(periodKey - 1), rest(periodKey - 2)],
    };
  }

  /** Credits at a moment, counted from the start of the open period: below zero for what lies before it. */
  sinceStart(periodKey: number, tenantKey: number | null, atMs: number): bigint | null {
    let key = periodKey;
    while (atMs < this.#monthOf(key).startMs) key -= 1;
    const reached = this.reading(key, tenantKey, atMs);
    if (reached === null) return null;
    let credits = reached;
    for (let month = key; month < periodKey; month += 1) credits -= this.#state(month, tenantKey);
    return credits;
  }

  /** The bounds of a month, worked out once: each reading asks for them. */
  readonly #monthOf = onceEach((periodKey: number) => {
    const period = periodOfKey(periodKey);
    return { startMs: periodStartMs(period), endMs: periodEndMs(period) };
  });

  /** The entries that the days before now end with in a period: who is asked for one of them is asked for all. */
  readonly #dayEnds = onceEach((periodKey: number): ReadonlySet<number> => {
    const { startMs, endMs } = this.#monthOf(periodKey);
    const entryIds = new Set<number>();
    for (let days = 1; days <= DAYS_BACK; days += 1) {
      const atMs = this.sources.nowMs - days * DAY_MS;
      if (atMs <= startMs || atMs >= endMs) continue;
      const place = this.#moments.placeOf(atMs);
      for (const read of [place?.earlier, place?.later]) if (read != null) entryIds.add(read.lastEntryId);
    }
    return entryIds;
  });

  readonly #totals = onceEach((periodKey: number) => totalsOf(this.sources.connection, periodKey, this.sources.nowMs));

  #state(periodKey: number, tenantKey: number | null): bigint {
    const reached = this.#reached(periodKey, tenantKey);
    reached.now ??=
      tenantKey === null
        ? sumUsage(this.sources.connection, periodKey).creditsUsed
        : (this.#statements.state(periodKey, tenantKey)?.credits ?? 0n);
    return reached.now;
  }

  /** Where runs are rare, many moments of a tenant have one reading. */
  #readAt(periodKey: number, tenantKey: number | null, { lastEntryId }: LastRead): bigint {
    if (tenantKey === null) return this.#totals(periodKey)(lastEntryId);
    const { byEntry } = this.#reached(periodKey, tenantKey);
    const known = byEntry.get(lastEntryId);
    if (known !== undefined) return known;
    const days = this.#dayEnds(periodKey);
    const entryIds = days.has(lastEntryId) ? [...days] : [lastEntryId];
    for (const [place, { credits }] of this.#readings(periodKey, tenantKey, entryIds).entries()) {
      byEntry.set(entryIds[place] as number, credits);
    }
    return byEntry.get(lastEntryId) ?? 0n;
  }

  #reached(periodKey: number, tenantKey: number | null): Reached {
    if (this.#lastRead.tenantKey !== tenantKey) this.#lastRead = { tenantKey, periods: new Map() };
    const { periods } = this.#lastRead;
    const known = periods.get(periodKey) ?? { now: null, byEntry: new Map() };
    periods.set(periodKey, known);
    return known;
  }
}

interface Reached {
  now: bigint | null;
  byEntry: Map<number, bigint>;
}

const { placeholder } = sql;
const isOfWorkspace = eq(runs.workspaceKey, placeholder('workspaceKey'));
const isApplied = eq(runs.status, 'applied').inlineParams();

const lastApplied = prepared((db) =>
  db
    .select()
    .from(runs)
    .where(and(isOfWorkspace, isApplied, lte(runs.finishedAt, placeholder('latest'))))
    .orderBy(desc(runs.runKey))
    .limit(1),
);

const settledBy = prepared((db) =>
  db
    .select({ runKey: runs.runKey })
    .from(periods)
    .innerJoin(runs, eq(runs.runKey, periods.finalRunKey))
    .where(and(eq(periods.periodKey, placeholder('periodKey')), isApplied)),
);

const lastWithEntries = prepared((db) =>
  db
    .select()
    .from(runs)
    .where(and(isOfWorkspace, lte(runs.runKey, placeholder('runKey')), isNotNull(runs.firstEntryId)))
    .orderBy(desc(runs.runKey))
    .limit(1),
);

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
function totalsOf(history: Database.Database, periodKey: number, nowMs: number): (entryId: number) => bigint {
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
