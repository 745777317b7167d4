import type { Statement } from 'better-sqlite3';
import { canHaveHappened } from '../../../core/stored-time.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { asc, eq, prepared, query, sql } from '../../store/schema/drizzle.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { workspaces } from '../../store/schema/workspace-tables.ts';
import { highest } from '../../store/subjects.ts';

type SlotKind = 'scheduled' | 'reconcile';

export interface SlotRecord {
  /** The latest slot whose run was applied, ISO-8601 UTC; null when there is none. */
  doneSlot: string | null;
  /** Runs in a row that have ended since without applying. */
  failures: number;
  /** The slot of the latest of them. */
  failedSlot: string | null;
  failedRunKey: number | null;
  /** When it ended, milliseconds since the epoch. */
  failedAtMs: number | null;
  /** It ended because the service refused our credentials. */
  refused: boolean;
}

const { runKey, kind, slot, status, finishedAt, errorCode } = runs;
const RUN_COLUMNS = { runKey, workspaceId: workspaces.workspaceId, kind, slot, status, finishedAt, errorCode };
type RunRow = Pick<typeof runs.$inferSelect, Exclude<keyof typeof RUN_COLUMNS, 'workspaceId'>> & {
  workspaceId: string;
};

/** The runs that are new, and those that were running, in their order. */
const changedRuns = prepared((db) =>
  db
    .select(RUN_COLUMNS)
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    // By their keys: an OR would have SQLite read every run.
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
const KINDS: readonly SlotKind[] = ['scheduled', 'reconcile'];
const REFUSALS: readonly (string | null)[] = ['unauthorized', 'forbidden'];
/** The codes of runs that ended because somebody stopped the program. */
const STOPS: readonly (string | null)[] = ['stopping', 'cancelled'];
/** Runs of one workspace that the first look goes back at most, in search of one that was applied. */
const FIRST_LOOK_ROWS = 5000;

/**
 * Follows which slots are done. Only an applied run does a slot; runs that failed are counted, so that the slot is tried
 * again. Each look reads only what is new since the one before: an ended run stays as it is for as long as it is kept.
 */
export class SlotLog {
  readonly #connection: LedgerDb;
  readonly #version: Statement;
  readonly #records = new Map<string, SlotRecord>();
  readonly #running = new Set<number>();
  #lastKey: number | null = null;
  /** Of SQLite's own count: it moves when another connection has committed. */
  #seenVersion: unknown = null;

  constructor(connection: LedgerDb) {
    this.#connection = connection;
    this.#version = connection.prepare('PRAGMA data_version').pluck();
  }

  /** The record as of now; an empty one for a workspace that the ledger does not know. */
  record(workspaceId: string, kind: SlotKind): SlotRecord {
    this.#refresh();
    return this.#records.get(keyOf(workspaceId, kind)) ?? EMPTY_RECORD;
  }

  /** Asked for hundreds of workspaces in a row, and little is written meanwhile. */
  #refresh(): void {
    const version = this.#version.get();
    if (version === this.#seenVersion) return;
    const lastKey = this.#lastKey ?? this.#takeHistory();
    const running = JSON.stringify([...this.#running]);
    for (const row of changedRuns(this.#connection).all({ lastKey, running })) this.#take(row);
    this.#seenVersion = version;
  }

  /** Of each workspace the runs since the latest applied one of each kind. Returns the last run of all. */
  #takeHistory(): number {
    const lastKey = highest(this.#connection, runKey);
    this.#lastKey = lastKey;
    const backwards = this.#connection.prepare(
      `SELECT run_key AS runKey, kind, slot, status, finished_at AS finishedAt, error_code AS errorCode FROM runs
       WHERE workspace_key = ? AND run_key <= ? ORDER BY run_key DESC LIMIT ${FIRST_LOOK_ROWS}`,
    );
    for (const { workspaceKey, workspaceId } of query(this.#connection).select().from(workspaces).all()) {
      const rows: RunRow[] = [];
      const open = new Set<string>(KINDS);
      for (const found of backwards.iterate(workspaceKey, lastKey)) {
        const row = { ...(found as Omit<RunRow, 'workspaceId'>), workspaceId };
        rows.push(row);
        if (row.status === 'applied') open.delete(row.kind);
        if (open.size === 0) break;
      }
      for (const row of rows.reverse()) this.#take(row);
    }
    return lastKey;
  }

  #take(row: RunRow): void {
    const { runKey, workspaceId, kind, slot, status } = row;
    this.#lastKey = Math.max(this.#lastKey ?? 0, runKey);
    if (status === 'running') {
      this.#running.add(runKey);
      return;
    }
    this.#running.delete(runKey);
    const endedAtMs = row.finishedAt === null ? null : Date.parse(row.finishedAt);
    if (status === 'applied') {
      // Any run that was applied, one by hand too, shows that the fault is over.
      for (const each of KINDS) this.#forgive(keyOf(workspaceId, each), each === kind ? slot : null, endedAtMs);
    } else if (kind !== 'manual' && !STOPS.includes(row.errorCode)) {
      const known = this.#records.get(keyOf(workspaceId, kind)) ?? EMPTY_RECORD;
      this.#records.set(keyOf(workspaceId, kind), {
        doneSlot: known.doneSlot,
        failures: known.failures + 1,
        failedSlot: slot,
        failedRunKey: runKey,
        failedAtMs: endedAtMs,
        refused: REFUSALS.includes(row.errorCode),
      });
    }
  }

  #forgive(key: string, slot: string | null, endedAtMs: number | null): void {
    const known = this.#records.get(key)?.doneSlot ?? null;
    const knownMs = known === null ? Number.NEGATIVE_INFINITY : Date.parse(known);
    // A slot that had not come when a later run ended was done by a clock that has been set back since.
    const replaced = (slot !== null && Date.parse(slot) > knownMs) || !canHaveHappened(knownMs, endedAtMs ?? knownMs);
    this.#records.set(key, { ...EMPTY_RECORD, doneSlot: replaced ? slot : known });
  }
}

function keyOf(workspaceId: string, kind: SlotKind): string {
  return JSON.stringify([workspaceId, kind]);
}
