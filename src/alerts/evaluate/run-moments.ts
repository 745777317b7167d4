import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';

/** A reading speaks for a moment this much later; between readings further apart credits count as used evenly. */
const READING_LASTS_MS = 36 * 3_600_000;

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

/** Where moments lie between the runs of a workspace; each is looked up once. */
export class RunMoments {
  readonly #workspaceKey: number;
  readonly #nowMs: number;
  readonly #places = new Map<number, Place | null>();
  readonly #statements;

  constructor({ history, workspaceKey, nowMs }: { history: Database.Database; workspaceKey: number; nowMs: number }) {
    this.#workspaceKey = workspaceKey;
    this.#nowMs = nowMs;
    const run = (columns: string, where: string) =>
      history
        .prepare(
          `SELECT ${columns} FROM runs
           WHERE workspace_key = ? AND applied_seq IS NOT NULL AND ${where} LIMIT 1`,
        )
        .pluck();
    const last = 'first_entry_id + entries - 1';
    this.#statements = {
      before: run('finished_at', 'finished_at <= ? ORDER BY finished_at DESC'),
      after: run('finished_at', 'finished_at > ? AND finished_at < ? ORDER BY finished_at'),
      lastEntry: run(last, 'finished_at <= ? AND first_entry_id IS NOT NULL ORDER BY finished_at DESC'),
    };
  }

  /** Whether a reading speaks for the moment. */
  isRead(atMs: number): boolean {
    const place = this.placeOf(atMs);
    return place !== null && place.later === null;
  }

  /** Null for a moment before the first run. */
  placeOf(atMs: number): Place | null {
    const known = this.#places.get(atMs);
    if (known !== undefined) return known;
    const finishedAt = this.#statements.before.get(this.#workspaceKey, isoTime(atMs)) as string | undefined;
    const place = finishedAt === undefined ? null : this.#placeAfter(this.#momentOf(finishedAt), atMs);
    this.#places.set(atMs, place);
    return place;
  }

  #placeAfter(earlier: Moment, atMs: number): Place {
    if (atMs - earlier.atMs <= READING_LASTS_MS) return { earlier, later: null };
    const next = this.#statements.after.get(this.#workspaceKey, isoTime(atMs), isoTime(this.#nowMs)) as
      | string
      | undefined;
    // The run that is under way has read what there is now.
    return { earlier, later: next === undefined ? { atMs: this.#nowMs, lastEntryId: 0 } : this.#momentOf(next) };
  }

  #momentOf(finishedAt: string): Moment {
    const lastEntryId = this.#statements.lastEntry.get(this.#workspaceKey, finishedAt);
    return { atMs: Date.parse(finishedAt), lastEntryId: Number(lastEntryId ?? 0) };
  }
}
