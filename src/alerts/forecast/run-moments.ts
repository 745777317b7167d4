import { isoTime } from '../../core/clock.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { countUpTo } from './readings.ts';

/**
 * A reading is used for all moments at most this far (ms) from it, because hourly runs do not end at the same minute
 * each day.
 */
export const READING_TOLERANCE_MS = 1_800_000;

/**
 * Returns the time between two readings, rounded to half hours, because runs do not end at the same minute each day.
 */
export function roundedSpanMs(fromMs: number, toMs: number): number {
  return Math.round((toMs - fromMs) / READING_TOLERANCE_MS) * READING_TOLERANCE_MS;
}

/**
 * Among this many latest runs before a moment, the last one in the chain is used. So readings are right even if a clock
 * ran ahead, as long as it did so for fewer runs than this.
 */
export const MAX_CHAIN_ORDERED_RUNS = 100;

/** The last entry that had been read at a moment. */
export interface LastRead {
  atMs: number;
  lastEntryId: number;
}

/**
 * The readings before and after a moment, between which credits are assumed to be used evenly. `later` is null if
 * `earlier` is close enough to the moment.
 */
interface NearReadings {
  earlier: LastRead;
  later: LastRead | null;
}

interface TimedRun {
  runKey: number;
  atMs: number;
}

export interface RunTimes {
  /**
   * Returns the last run before a moment: of the MAX_CHAIN_ORDERED_RUNS latest runs by time, the last one in the chain.
   */
  before(atMs: number): TimedRun | undefined;
  /** Returns the first run after a given run that ended between two moments. */
  after(runKey: number, fromMs: number, toMs: number): TimedRun | undefined;
  lastEntryId(runKey: number): number;
}

export function createRunTimes(history: LedgerDb, workspaceKey: number): RunTimes {
  const run = (columns: string, where: string) =>
    history.prepare(
      `SELECT ${columns} FROM runs
       WHERE workspace_key = ? AND applied_seq IS NOT NULL AND ${where} LIMIT 1`,
    );
  const last = 'first_entry_id + entries - 1';
  const columns = 'run_key AS runKey, finished_at AS finishedAt';
  const before = history.prepare(
    `SELECT ${columns} FROM runs WHERE run_key = (
       SELECT max(run_key) FROM (
         SELECT run_key FROM runs WHERE workspace_key = ? AND applied_seq IS NOT NULL AND finished_at <= ?
         ORDER BY finished_at DESC LIMIT ${MAX_CHAIN_ORDERED_RUNS}))`,
  );
  const after = run(columns, 'run_key > ? AND finished_at > ? AND finished_at < ? ORDER BY finished_at');
  const lastEntry = run(last, 'run_key <= ? AND first_entry_id IS NOT NULL ORDER BY run_key DESC').pluck();
  const toRun = (row: unknown): TimedRun | undefined => {
    const found = row as { runKey: number; finishedAt: string } | undefined;
    return found && { runKey: found.runKey, atMs: Date.parse(found.finishedAt) };
  };
  return {
    before: (atMs) => toRun(before.get(workspaceKey, isoTime(atMs))),
    after: (runKey, fromMs, toMs) => toRun(after.get(workspaceKey, runKey, isoTime(fromMs), isoTime(toMs))),
    lastEntryId: (runKey) => Number(lastEntry.get(workspaceKey, runKey) ?? 0),
  };
}

/** Reads all run times into memory, for a history that does not change while it is replayed. */
export function createCachedRunTimes(history: LedgerDb, workspaceKey: number): RunTimes {
  const rows = history
    .prepare(
      `SELECT run_key AS runKey, finished_at AS finishedAt, first_entry_id + entries - 1 AS lastEntryId FROM runs
       WHERE workspace_key = ? AND applied_seq IS NOT NULL ORDER BY run_key`,
    )
    .all(workspaceKey) as { runKey: number; finishedAt: string; lastEntryId: number | null }[];
  const lastEntries = new Map<number, number>();
  let lastEntryId = 0;
  for (const row of rows) {
    lastEntryId = row.lastEntryId ?? lastEntryId;
    lastEntries.set(row.runKey, lastEntryId);
  }
  const runs = rows.map(({ runKey, finishedAt }) => ({ runKey, atMs: Date.parse(finishedAt) }));
  runs.sort((a, b) => a.atMs - b.atMs);
  const ends = Float64Array.from(runs, ({ atMs }) => atMs);
  const latest = runs.map((_, place) =>
    runs
      .slice(Math.max(0, place - MAX_CHAIN_ORDERED_RUNS + 1), place + 1)
      .reduce((last, run) => (run.runKey > last.runKey ? run : last)),
  );
  return {
    before: (atMs) => latest[countUpTo(ends, atMs) - 1],
    after(runKey, fromMs, toMs) {
      let place = countUpTo(ends, fromMs);
      while (place < runs.length && (runs[place]?.runKey ?? 0) <= runKey) place += 1;
      const found = runs[place];
      return found !== undefined && found.atMs < toMs ? found : undefined;
    },
    lastEntryId: (runKey) => lastEntries.get(runKey) ?? 0,
  };
}

/** Finds the readings around moments. Each moment is looked up once. */
export class RunMoments {
  readonly #nowMs: number;
  readonly #runs: RunTimes;
  /** `first` is the first run, and `byMs` is a moment before it. Moments up to `byMs` need no further look-up. */
  #untouched: { byMs: number; first: TimedRun | undefined } = { byMs: Number.NEGATIVE_INFINITY, first: undefined };

  constructor(runs: RunTimes, nowMs: number) {
    this.#nowMs = nowMs;
    this.#runs = runs;
  }

  /** Returns the readings around a moment; null before the first run. */
  readonly placeOf = oncePerKey((atMs: number): NearReadings | null => {
    const isUntouched = atMs <= this.#untouched.byMs;
    const run = isUntouched ? undefined : this.#runs.before(atMs);
    if (run !== undefined && atMs - run.atMs <= READING_TOLERANCE_MS)
      return { earlier: this.#lastReadBy(run), later: null };
    const next = isUntouched ? this.#untouched.first : this.#runs.after(run?.runKey ?? 0, atMs, this.#nowMs);
    if (run === undefined && !isUntouched) this.#untouched = { byMs: atMs, first: next };
    if (next !== undefined && next.atMs - atMs <= READING_TOLERANCE_MS)
      return { earlier: this.#lastReadBy(next), later: null };
    if (run === undefined) return null;
    // After the last run comes the run in progress, which has read the present figures.
    const later = next === undefined ? { atMs: this.#nowMs, lastEntryId: 0 } : this.#lastReadBy(next);
    return { earlier: this.#lastReadBy(run), later };
  });

  #lastReadBy({ runKey, atMs }: TimedRun): LastRead {
    return { atMs, lastEntryId: this.#runs.lastEntryId(runKey) };
  }
}
