import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { onceEach } from '../../core/one-at-a-time.ts';

/** A reading speaks for a moment this much later; between readings further apart credits count as used evenly. */
const READING_LASTS_MS = 36 * 3_600_000;

/**
 * A clock that was ahead for fewer runs than these, as they lie in time, does not move a moment: among them the chain says
 * which one was last.
 */
export const LATEST_RUNS = 100;

/** What had been read by a moment: the last entry of the workspace's runs up to it. */
export interface Moment {
  atMs: number;
  lastEntryId: number;
}

/** A moment between two readings that lie far apart; `later` is null where the reading before still speaks for it. */
interface Place {
  earlier: Moment;
  later: Moment | null;
}

interface PublishedRun {
  runKey: number;
  finishedAt: string;
}

/** Where moments lie between the runs of a workspace; each is looked up once. */
export class RunMoments {
  readonly #workspaceKey: number;
  readonly #nowMs: number;
  readonly #statements;

  constructor({ history, workspaceKey, nowMs }: { history: Database.Database; workspaceKey: number; nowMs: number }) {
    this.#workspaceKey = workspaceKey;
    this.#nowMs = nowMs;
    const run = (columns: string, where: string) =>
      history.prepare(
        `SELECT ${columns} FROM runs
         WHERE workspace_key = ? AND applied_seq IS NOT NULL AND ${where} LIMIT 1`,
      );
    const last = 'first_entry_id + entries - 1';
    const columns = 'run_key AS runKey, finished_at AS finishedAt';
    this.#statements = {
      before: history.prepare(
        `SELECT ${columns} FROM runs WHERE run_key = (
           SELECT max(run_key) FROM (
             SELECT run_key FROM runs WHERE workspace_key = ? AND applied_seq IS NOT NULL AND finished_at <= ?
             ORDER BY finished_at DESC LIMIT ${LATEST_RUNS}))`,
      ),
      after: run(columns, 'run_key > ? AND finished_at > ? AND finished_at < ? ORDER BY finished_at'),
      lastEntry: run(last, 'run_key <= ? AND first_entry_id IS NOT NULL ORDER BY run_key DESC').pluck(),
    };
  }

  /** Whether a reading speaks for the moment. */
  isRead(atMs: number): boolean {
    const place = this.placeOf(atMs);
    return place !== null && place.later === null;
  }

  /** Null for a moment before the first run. */
  readonly placeOf = onceEach((atMs: number): Place | null => {
    const run = this.#statements.before.get(this.#workspaceKey, isoTime(atMs)) as PublishedRun | undefined;
    return run === undefined ? null : this.#placeAfter(run, atMs);
  });

  #placeAfter(run: PublishedRun, atMs: number): Place {
    const earlier = this.#momentOf(run);
    if (atMs - earlier.atMs <= READING_LASTS_MS) return { earlier, later: null };
    const [from, to] = [isoTime(atMs), isoTime(this.#nowMs)];
    const next = this.#statements.after.get(this.#workspaceKey, run.runKey, from, to) as PublishedRun | undefined;
    // The run that is under way has read what there is now.
    return { earlier, later: next === undefined ? { atMs: this.#nowMs, lastEntryId: 0 } : this.#momentOf(next) };
  }

  #momentOf({ runKey, finishedAt }: PublishedRun): Moment {
    const lastEntryId = this.#statements.lastEntry.get(this.#workspaceKey, runKey);
    return { atMs: Date.parse(finishedAt), lastEntryId: Number(lastEntryId ?? 0) };
  }
}
