import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { once, oncePerKey } from '../../core/one-at-a-time.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { latestPlausibleTime } from '../../core/stored-time.ts';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, desc, eq, isNotNull, lte, perConnection, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { periods } from '../../ledger/store/schema/workspace-tables.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { NO_USAGE, type UsageFigures } from '../figures/usage-figures.ts';
import { DailyCredits, daysSincePause, HABIT_DAYS, type PastUsage, RATE_DAYS } from './past-days.ts';
import { countUpTo, createCachedReadings, createReadings, type Readings } from './readings.ts';
import {
  createCachedRunTimes,
  createRunTimes,
  MAX_CHAIN_ORDERED_RUNS,
  RunMoments,
  type RunTimes,
} from './run-moments.ts';

/** The sources that the usage history is read from. */
export interface HistorySources {
  /** The ledger, with the changes of the run that is evaluated. */
  connection: LedgerDb;
  workspaceKey: number;
  nowMs: number;
  /** The history that a replay caches; absent: each value is looked up in the ledger. */
  kept?: KeptHistory | undefined;
}

/** Values by period and tenant. */
type ByTenant<V> = Map<number, Map<number, V>>;

/** The history that a replay keeps in memory between its runs. */
export class KeptHistory {
  readonly readings: Readings;
  readonly runs: RunTimes;
  readonly firstPeriods = new Map<number, number | null>();
  /** Credits of a tenant in a period. */
  readonly credits: ByTenant<bigint> = new Map();
  /** Daily credits of a tenant before a period. */
  readonly daysBefore: ByTenant<readonly number[]> = new Map();
  /** Tenants of the sample of a period. */
  readonly samples = new Map<number, readonly number[]>();

  constructor(history: LedgerDb, workspaceKey: number) {
    this.readings = createCachedReadings(history);
    this.runs = createCachedRunTimes(history, workspaceKey);
  }

  /** Forgets cached values that a run changes. Called before the run's rules read the history. */
  forget({ changed, hasNewRecords }: { changed: Iterable<number>; hasNewRecords: boolean }): void {
    if (hasNewRecords) {
      this.firstPeriods.clear();
      this.samples.clear();
    }
    for (const periodKey of changed) {
      this.credits.delete(periodKey);
      for (const later of this.daysBefore.keys()) if (later > periodKey) this.daysBefore.delete(later);
    }
  }
}

/**
 * Reads the past usage of a workspace and its tenants. Each reading is one index seek; run times are looked up once.
 */
export class UsageHistory {
  readonly sources: HistorySources;
  readonly #moments: RunMoments;
  readonly #readings: Readings;
  readonly #firstPeriods: Map<number, number | null>;
  readonly #statements;
  readonly #figures;
  /** A cache for the tenant that was read last: its credits by period, and then by entry id. */
  #lastRead: { tenantKey: number | null; periods: Map<number, (entryId: number) => bigint> } = {
    tenantKey: 0,
    periods: new Map(),
  };

  constructor(sources: HistorySources) {
    const { connection, workspaceKey, nowMs, kept } = sources;
    this.sources = sources;
    this.#moments = new RunMoments(kept?.runs ?? createRunTimes(connection, workspaceKey), nowMs);
    this.#readings = kept?.readings ?? createReadings(connection);
    this.#firstPeriods = kept?.firstPeriods ?? new Map();
    this.#statements = statementsOf(connection);
    this.#figures = figuresReader(connection);
  }

  /**
   * Returns the readings before and after the moment `daysAgo` days ago, for use in SQL: the last entry id of each
   * reading, and the fraction of the time between them that had passed at that moment. `later` is null if the later
   * reading is the present figures, or if it is not needed (`passed` is 0). Returns null if nothing was read before the
   * moment.
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

  /** Returns the first period of a tenant, which is probably incomplete; null if the tenant has none. */
  firstPeriodKey(tenantKey: number): number | null {
    const known = this.#firstPeriods.get(tenantKey);
    if (known !== undefined) return known;
    const found = this.#statements.firstPeriod.get(tenantKey, this.sources.workspaceKey) as number | undefined;
    this.#firstPeriods.set(tenantKey, found ?? null);
    return found ?? null;
  }

  /** Returns when a run was applied; null for the run in progress. */
  readonly endOf = oncePerKey((runKey: number): number | null => {
    const { workspaceKey } = this.sources;
    const finishedAt = this.#statements.ends.get({ runKey, workspaceKey }) as string | null;
    return finishedAt === null ? null : Date.parse(finishedAt);
  });

  /** Returns when the workspace's first run was applied; null if that run is in progress. */
  firstRunMs(): number | null {
    const finishedAt = this.#statements.firstRun.get(this.sources.workspaceKey) as string | undefined;
    return finishedAt === undefined ? null : Date.parse(finishedAt);
  }

  /**
   * Returns when the run before `runKey` ended; null without an earlier run. Usage that `runKey` was the first to read
   * is newer than that.
   */
  readonly endBefore = oncePerKey((runKey: number): number | null => {
    const finishedAt = this.#statements.endBefore.get(this.sources.workspaceKey, runKey) as string | undefined;
    return finishedAt === undefined ? null : Date.parse(finishedAt);
  });

  /** Returns the end of the latest earlier run whose time is not in the future; null without such a run. */
  readonly lastRunMs = once((): number | null => {
    const { connection, workspaceKey, nowMs } = this.sources;
    const run = lastApplied(connection).get({ workspaceKey, latest: latestPlausibleTime(nowMs) });
    return run === undefined ? null : Date.parse(run.finishedAt ?? '');
  });

  /** Returns the id of the last entry that existed when a run found the period settled; null if no earlier run did. */
  settledEntry(periodKey: number): number | null {
    const { connection, workspaceKey } = this.sources;
    const runKey = settledBy(connection).get({ periodKey })?.runKey;
    if (runKey === undefined) return null;
    const run = lastWithEntries(connection).get({ workspaceKey, runKey });
    return run === undefined ? 0 : (run.firstEntryId ?? 0) + run.entries - 1;
  }

  /** Returns the figures that a tenant had when an earlier run found the period settled; null if no earlier run did. */
  settledFigures(periodKey: number, tenantKey: number): UsageFigures | null {
    const lastEntryId = this.settledEntry(periodKey);
    if (lastEntryId === null) return null;
    const figures = this.#statements.reading.get(periodKey, tenantKey, lastEntryId) as [bigint, bigint] | undefined;
    return figures === undefined ? NO_USAGE : { credits: figures[0], requests: figures[1] };
  }

  /** Returns the credits in a period as they had been read at a moment; null if nothing had been read then. */
  reading(periodKey: number, tenantKey: number | null, atMs: number): bigint | null {
    const mark = this.#markOf(periodKey, atMs);
    return mark === null ? null : creditsBetween(mark, this.#knownOf(periodKey, tenantKey));
  }

  /** Returns the past usage of a tenant, or of the whole workspace (null), up to now in the open period. */
  of(periodKey: number, tenantKey: number | null, daily = this.daily(periodKey, tenantKey)): PastUsage {
    const { nowMs } = this.sources;
    const months = [periodKey, periodKey - 1, periodKey - 2].map((key) => this.#monthOf(key));
    const elapsedMs = nowMs - this.#monthOf(periodKey).startMs;
    const rest = (key: number): number | null => {
      const then = this.reading(key, tenantKey, this.#monthOf(key).startMs + elapsedMs);
      return then === null ? null : Math.max(0, Number(this.#state(key, tenantKey) - then));
    };
    return {
      days: daysSincePause(daily.latest(RATE_DAYS)),
      elapsed: elapsedMs / DAY_MS,
      lengths: months.map(({ startMs, endMs }) => (endMs - startMs) / DAY_MS) as [number, number, number],
      rests: [rest(periodKey - 1), rest(periodKey - 2)],
    };
  }

  /** Returns the daily credits of a tenant, or of the whole workspace (null), up to now in an open period. */
  daily(periodKey: number, tenantKey: number | null): DailyCredits {
    return this.#dailyUntil(this.#daysUntilNow(periodKey), tenantKey);
  }

  /**
   * Returns a tenant's daily credits over more than a year before a month, latest first. Days are calendar days, so
   * that all runs of a month see the same days.
   */
  daysBeforeMonth(periodKey: number, tenantKey: number): readonly number[] {
    return keptValue(this.sources.kept?.daysBefore, { periodKey, tenantKey }, () =>
      this.#dailyUntil(this.#calendarDays(periodKey), tenantKey).latest(HABIT_DAYS),
    );
  }

  /**
   * Returns the daily credits between the moments in `marks`. Cumulative credits are 0 at the start of the period and
   * negative before it. Above 2^53 they are rounded, which makes no difference to a forecast.
   */
  #dailyUntil({ periodKey, marks, ends }: DayMarks, tenantKey: number | null): DailyCredits {
    let month: number | null = null;
    let credits: readonly number[] = [];
    let between = 0;
    return new DailyCredits(marks.length - 1, (daysAgo) => {
      const mark = marks[daysAgo] as Mark;
      if (mark.periodKey !== month) {
        month = mark.periodKey;
        credits = this.#numbersBy(month, tenantKey, ends.get(month) ?? []);
        if (month < periodKey) between += Number(this.#state(month, tenantKey));
      }
      return creditsAt(mark, credits) - between;
    });
  }

  /** Returns the credits at a moment relative to the start of the open period: negative before it. */
  sinceStart(periodKey: number, tenantKey: number | null, atMs: number): bigint | null {
    const key = this.#monthAt(periodKey, atMs);
    const reached = this.reading(key, tenantKey, atMs);
    if (reached === null) return null;
    let credits = reached;
    for (let month = key; month < periodKey; month += 1) credits -= this.#state(month, tenantKey);
    return credits;
  }

  /** Bounds of months, cached because each reading needs them. */
  readonly #monthOf = oncePerKey((periodKey: number) => {
    const period = periodOfKey(periodKey);
    return { startMs: periodStartMs(period), endMs: periodEndMs(period) };
  });

  #monthAt(latestKey: number, atMs: number): number {
    let key = latestKey;
    while (atMs < this.#monthOf(key).startMs) key -= 1;
    return key;
  }

  #markOf(periodKey: number, atMs: number): Mark | null {
    const { nowMs } = this.sources;
    const { startMs, endMs } = this.#monthOf(periodKey);
    const alone = (entryId: number): Mark => ({ periodKey, earlier: entryId, later: null, passed: 0, whole: 1 });
    if (atMs <= startMs) return alone(NOTHING);
    if (atMs >= nowMs || atMs >= endMs) return alone(NOW);
    const place = this.#moments.placeOf(atMs);
    if (place === null) return null;
    const { earlier, later } = place;
    // Usage is assumed to be even between two readings, and from the start of the period to the first reading.
    const fromMs = Math.max(earlier.atMs, startMs);
    const toMs = Math.min(later?.atMs ?? 0, endMs);
    if (later === null || toMs <= fromMs) return alone(earlier.lastEntryId);
    return {
      periodKey,
      earlier: earlier.lastEntryId,
      later: later.atMs >= nowMs ? NOW : later.lastEntryId,
      passed: atMs - fromMs,
      whole: toMs - fromMs,
    };
  }

  readonly #daysUntilNow = oncePerKey((periodKey: number) => this.#daysUntil(periodKey, this.sources.nowMs));

  readonly #calendarDays = oncePerKey((periodKey: number) =>
    this.#daysUntil(periodKey, this.#monthOf(periodKey).startMs),
  );

  #daysUntil(periodKey: number, untilMs: number): DayMarks {
    const ends = new Map<number, number[]>();
    const marks: Mark[] = [];
    for (let daysAgo = 0; daysAgo <= HABIT_DAYS; daysAgo += 1) {
      const atMs = untilMs - daysAgo * DAY_MS;
      const mark = this.#markOf(this.#monthAt(periodKey, atMs), atMs);
      if (mark === null) break;
      const entryIds = ends.get(mark.periodKey) ?? [];
      ends.set(mark.periodKey, entryIds);
      const placeOf = (entryId: number) =>
        entryIds.includes(entryId) ? entryIds.indexOf(entryId) : entryIds.push(entryId) - 1;
      marks.push({ ...mark, earlier: placeOf(mark.earlier), later: mark.later === null ? null : placeOf(mark.later) });
    }
    return { periodKey, marks, ends };
  }

  /** Returns the totals of all tenants in a period. */
  readonly sumOf = oncePerKey((periodKey: number) => sumUsage(this.sources.connection, periodKey));

  /** This is called only if earlier readings exist: in a first run, it would read an entry for each record. */
  readonly #totals = oncePerKey((periodKey: number) => totalsOf(this.sources.connection, periodKey));

  #state(periodKey: number, tenantKey: number | null): bigint {
    return this.#knownOf(periodKey, tenantKey)(NOW);
  }

  #readState(periodKey: number, tenantKey: number | null): bigint {
    if (tenantKey === null) return this.sumOf(periodKey).creditsUsed;
    const read = () => this.#figures(periodKey, tenantKey)?.credits ?? 0n;
    return keptValue(this.sources.kept?.credits, { periodKey, tenantKey }, read);
  }

  /** Caches credits by entry for the tenant read last: if runs are rare, many moments share a reading. */
  #knownOf(periodKey: number, tenantKey: number | null): (entryId: number) => bigint {
    if (this.#lastRead.tenantKey !== tenantKey) this.#lastRead = { tenantKey, periods: new Map() };
    const { periods } = this.#lastRead;
    const read = (entryId: number): bigint =>
      entryId === NOW
        ? this.#readState(periodKey, tenantKey)
        : (this.#creditsBy(periodKey, tenantKey, [entryId])[0] ?? 0n);
    const known = periods.get(periodKey) ?? oncePerKey(read);
    periods.set(periodKey, known);
    return known;
  }

  #numbersBy(periodKey: number, tenantKey: number | null, entryIds: readonly number[]): number[] {
    if (tenantKey === null) return this.#creditsBy(periodKey, tenantKey, entryIds).map(Number);
    const read = this.#readings.numbers(periodKey, tenantKey, entryIds);
    for (const [place, entryId] of entryIds.entries()) {
      if (entryId === NOW) read[place] = Number(this.#state(periodKey, tenantKey));
    }
    return read;
  }

  #creditsBy(periodKey: number, tenantKey: number | null, entryIds: readonly number[]): bigint[] {
    const total = (entryId: number): bigint =>
      entryId === NOW || entryId === NOTHING ? 0n : this.#totals(periodKey)(entryId);
    const read = tenantKey === null ? entryIds.map(total) : this.#readings.exact(periodKey, tenantKey, entryIds);
    return read.map((credits, place) => (entryIds[place] === NOW ? this.#state(periodKey, tenantKey) : credits));
  }
}

/**
 * Returns a cached value of a replay, which `make` computes when it is first needed. Without a replay, nothing is
 * cached.
 */
function keptValue<V>(
  kept: ByTenant<V> | undefined,
  { periodKey, tenantKey }: { periodKey: number; tenantKey: number },
  make: () => V,
): V {
  if (kept === undefined) return make();
  const ofPeriod = kept.get(periodKey) ?? new Map<number, V>();
  const value = ofPeriod.get(tenantKey) ?? make();
  kept.set(periodKey, ofPeriod.set(tenantKey, value));
  return value;
}

/** Special entry ids: the present figures, and the time before the first entry. */
const NOW = Number.MAX_SAFE_INTEGER;
const NOTHING = -1;

/**
 * A moment between two readings. `earlier` and `later` are the ids of their last entries. `passed / whole` is the
 * fraction of the time between the readings that had passed. `later` is null if the earlier reading is close enough to
 * the moment.
 */
interface Mark {
  periodKey: number;
  earlier: number;
  later: number | null;
  passed: number;
  whole: number;
}

/**
 * The moments at which days end, latest first, back to the first day that was read. `ends` has entry ids by month;
 * `earlier` and `later` in `marks` are positions in its lists.
 */
interface DayMarks {
  /** The open period that the days are counted back from. */
  periodKey: number;
  marks: readonly Mark[];
  ends: ReadonlyMap<number, readonly number[]>;
}

function creditsBetween({ earlier, later, passed, whole }: Mark, creditsBy: (entry: number) => bigint): bigint {
  const before = creditsBy(earlier);
  return later === null ? before : before + ((creditsBy(later) - before) * BigInt(passed)) / BigInt(whole);
}

/** Does the same as `creditsBetween` with numbers, because a forecast reads hundreds of days and bigints are slow. */
function creditsAt({ earlier, later, passed, whole }: Mark, credits: readonly number[]): number {
  const before = credits[earlier] ?? 0;
  if (later === null) return before;
  const added = ((credits[later] ?? 0) - before) * passed;
  return before + (added - (added % whole)) / whole;
}

const statementsOf = perConnection((connection) => ({
  reading: connection
    .prepare(
      `SELECT credits_after, requests_after FROM usage_entries
       WHERE period_key = ? AND tenant_key = ? AND entry_id <= ? ORDER BY entry_id DESC LIMIT 1`,
    )
    .safeIntegers()
    .raw(),
  // If the clock ran ahead, a run seems to end after later ones. So the earliest end of this run and the later runs is
  // used.
  ends: connection
    .prepare(
      `SELECT CASE WHEN min(run_key) = @runKey THEN min(finished_at) END FROM (
         SELECT run_key, finished_at FROM runs
         WHERE workspace_key = @workspaceKey AND run_key >= @runKey AND status = 'applied'
         ORDER BY run_key LIMIT ${MAX_CHAIN_ORDERED_RUNS})`,
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
}));

const { placeholder } = sql;
const isOfWorkspace = eq(runs.workspaceKey, placeholder('workspaceKey'));
const isApplied = eq(runs.status, 'applied').inlineParams();

const lastApplied = prepared((db) =>
  db
    .select({ finishedAt: runs.finishedAt })
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

const totalStatements = perConnection((history) => ({
  runs: history.prepare(
    `SELECT run_key AS runKey, first_entry_id AS firstEntryId, first_entry_id + entries - 1 AS lastEntryId FROM runs
     WHERE workspace_key = ? AND applied_seq IS NOT NULL AND first_entry_id IS NOT NULL
       AND run_key > ? AND finished_at >= ? ORDER BY run_key`,
  ),
  added: history
    .prepare(
      `SELECT coalesce(sum(credits_delta), 0) FROM usage_entries
       WHERE entry_id BETWEEN @firstEntryId AND @lastEntryId AND +period_key = @periodKey`,
    )
    .safeIntegers()
    .pluck(),
  /** Sums of applied runs never change, so each is computed once. */
  periods: oncePerKey((_: number): Totals => ({ runKey: 0, credits: 0n, lastEntryIds: [], totals: [] })),
}));

interface Totals {
  runKey: number;
  credits: bigint;
  lastEntryIds: number[];
  totals: bigint[];
}

interface RunEntries {
  runKey: number;
  firstEntryId: number;
  lastEntryId: number;
}

/** Returns a function that gives the credits of all tenants in a period after an entry. */
function totalsOf(history: LedgerDb, periodKey: number): (entryId: number) => bigint {
  const { runs, added, periods } = totalStatements(history);
  const known = periods(periodKey);
  const since = isoTime(periodStartMs(periodOfKey(periodKey)));
  for (const { runKey, ...entries } of runs.all(workspaceKeyOf(periodKey), known.runKey, since) as RunEntries[]) {
    known.runKey = runKey;
    known.credits += added.get({ ...entries, periodKey }) as bigint;
    known.lastEntryIds.push(entries.lastEntryId);
    known.totals.push(known.credits);
  }
  return (entryId) => known.totals[countUpTo(known.lastEntryIds, entryId) - 1] ?? 0n;
}
