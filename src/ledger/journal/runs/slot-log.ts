import type { Statement } from 'better-sqlite3';
import { canHaveHappened } from '../../../core/stored-time.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { asc, eq, prepared, query, sql } from '../../store/schema/drizzle.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { workspaces } from '../../store/schema/workspace-tables.ts';
import { highest } from '../../store/subjects.ts';

/** The kinds of runs that slots start: `scheduled`, or `reconcile`, which reads the whole history again. */
export type SlotKind = 'scheduled' | 'reconcile';

export interface SlotRecord {
  /** The latest slot (scheduled time) for which a run was applied, ISO-8601 UTC; null when there is none. */
  doneSlot: string | null;
  /** Number of runs after the last applied run that ended without being applied. */
  failures: number;
  /** The slot of the latest failed run; null when no run has failed after the last applied run. */
  failedSlot: string | null;
  failedRunKey: number | null;
  /** End of the latest failed run, in milliseconds since the epoch. */
  failedAtMs: number | null;
  /** True when the latest run failed because the service rejected the credentials. */
  refused: boolean;
}

const { runKey, kind, slot, status, finishedAt, errorCode } = runs;
const RUN_COLUMNS = { runKey, workspaceId: workspaces.workspaceId, kind, slot, status, finishedAt, errorCode };
type SlotRunRow = Pick<typeof runs.$inferSelect, Exclude<keyof typeof RUN_COLUMNS, 'workspaceId'>> & {
  workspaceId: string;
};

/** Selects, in order, the runs that are new since the last read, and those that were still running at the last read. */
const changedRuns = prepared((db) =>
  db
    .select(RUN_COLUMNS)
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    // The condition is a union of keys, because SQLite would read every run for a condition with OR.
    .where(
      sql`${runKey} IN (SELECT value FROM json_each(${sql.placeholder('running')})
        UNION ALL SELECT n.run_key FROM runs n NOT INDEXED WHERE n.run_key > ${sql.placeholder('lastKey')})`,
    )
    .orderBy(asc(runKey)),
);

const EMPTY_RECORD: SlotRecord = {
  doneSlot: null,
  failures: 0,
  refused: false,
  failedSlot: null,
  failedRunKey: null,
  failedAtMs: null,
};
const SLOT_KINDS: readonly SlotKind[] = ['scheduled', 'reconcile'];
const REJECTION_CODES: readonly (string | null)[] = ['unauthorized', 'forbidden'];
/** Error codes of runs that ended because the program was stopped. */
const STOP_CODES: readonly (string | null)[] = ['stopping', 'cancelled'];
/** The largest number of runs per workspace that the first read examines to find the last applied run. */
const MAX_HISTORY_RUNS = 5000;

/**
 * Tracks which slots (scheduled times) are done. A slot is done when its run was applied. Failed runs are counted. Each
 * read covers only the runs that are new or were still running at the previous read, because an ended run does not
 * change.
 */
export class SlotLog {
  readonly #connection: LedgerDb;
  readonly #version: Statement;
  readonly #records = new Map<string, SlotRecord>();
  readonly #running = new Set<number>();
  #lastKey: number | null = null;
  /** SQLite's data_version, which changes when another connection has committed. */
  #seenVersion: unknown = null;

  constructor(connection: LedgerDb) {
    this.#connection = connection;
    this.#version = connection.prepare('PRAGMA data_version').pluck();
  }

  /** Returns the record of the slots of a workspace and kind; an empty record for an unknown workspace. */
  record(workspaceId: string, kind: SlotKind): SlotRecord {
    this.#refresh();
    return this.#records.get(slotKey(workspaceId, kind)) ?? EMPTY_RECORD;
  }

  /**
   * Reads the changed runs. Does nothing when no other connection has written, because callers ask for hundreds of
   * workspaces in a row.
   */
  #refresh(): void {
    const version = this.#version.get();
    if (version === this.#seenVersion) return;
    const lastKey = this.#lastKey ?? this.#readHistory();
    const running = JSON.stringify([...this.#running]);
    for (const row of changedRuns(this.#connection).all({ lastKey, running })) this.#recordRun(row);
    this.#seenVersion = version;
  }

  /**
   * For each workspace, reads the runs since the latest applied run of each kind. Returns the highest run key of the
   * ledger.
   */
  #readHistory(): number {
    const lastKey = highest(this.#connection, runKey);
    this.#lastKey = lastKey;
    const backwards = this.#connection.prepare(
      `SELECT run_key AS runKey, kind, slot, status, finished_at AS finishedAt, error_code AS errorCode FROM runs
       WHERE workspace_key = ? AND run_key <= ? ORDER BY run_key DESC LIMIT ${MAX_HISTORY_RUNS}`,
    );
    for (const { workspaceKey, workspaceId } of query(this.#connection).select().from(workspaces).all()) {
      const rows: SlotRunRow[] = [];
      const open = new Set<string>(SLOT_KINDS);
      for (const found of backwards.iterate(workspaceKey, lastKey)) {
        const row = { ...(found as Omit<SlotRunRow, 'workspaceId'>), workspaceId };
        rows.push(row);
        if (row.status === 'applied') open.delete(row.kind);
        if (open.size === 0) break;
      }
      for (const row of rows.reverse()) this.#recordRun(row);
    }
    return lastKey;
  }

  #recordRun(row: SlotRunRow): void {
    const { runKey, workspaceId, kind, slot, status } = row;
    this.#lastKey = Math.max(this.#lastKey ?? 0, runKey);
    if (status === 'running') {
      this.#running.add(runKey);
      return;
    }
    this.#running.delete(runKey);
    const endedAtMs = row.finishedAt === null ? null : Date.parse(row.finishedAt);
    if (status === 'applied') {
      // Any applied run, even a manual one, shows that earlier failures have ended.
      for (const each of SLOT_KINDS)
        this.#resetFailures(slotKey(workspaceId, each), each === kind ? slot : null, endedAtMs);
    } else if (kind !== 'manual' && !STOP_CODES.includes(row.errorCode)) {
      const known = this.#records.get(slotKey(workspaceId, kind)) ?? EMPTY_RECORD;
      this.#records.set(slotKey(workspaceId, kind), {
        doneSlot: known.doneSlot,
        failures: known.failures + 1,
        failedSlot: slot,
        failedRunKey: runKey,
        failedAtMs: endedAtMs,
        refused: REJECTION_CODES.includes(row.errorCode),
      });
    }
  }

  #resetFailures(key: string, slot: string | null, endedAtMs: number | null): void {
    const known = this.#records.get(key)?.doneSlot ?? null;
    const knownMs = known === null ? Number.NEGATIVE_INFINITY : Date.parse(known);
    // A done slot that lies after the end of a later run was recorded while the clock was ahead, so it is replaced.
    const replaced = (slot !== null && Date.parse(slot) > knownMs) || !canHaveHappened(knownMs, endedAtMs ?? knownMs);
    this.#records.set(key, { ...EMPTY_RECORD, doneSlot: replaced ? slot : known });
  }
}

function slotKey(workspaceId: string, kind: SlotKind): string {
  return JSON.stringify([workspaceId, kind]);
}
