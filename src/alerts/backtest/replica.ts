import Database from 'better-sqlite3';
import { freezeFigures, setClosingLink, unfreezeFigures } from '../../ledger/journal/close/close-period.ts';
import { coverPeriods } from '../../ledger/journal/runs/apply-run.ts';
import { countEntries, updateState } from '../../ledger/journal/runs/merge-staged.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { migrateInMemory } from '../../ledger/store/schema/migrate.ts';
import { evaluateRun, type RunAlertSettings } from '../evaluate-run.ts';
import type { KeptHistory } from '../forecast/usage-history.ts';
import { simulateDelivery } from '../outbox/accept-all.ts';
import { toRoutes } from '../pipeline/route.ts';
import type { RecordedHistory, RecordedLink } from './history.ts';

/** The only channel of a replay. Its messages are counted and never sent. */
const CHANNELS = toRoutes([{ type: 'log', name: 'backtest' }]);

/** The history that a replica replays, and the settings that it uses. */
export interface ReplicaSource {
  ledger: LedgerDb;
  history: RecordedHistory;
  kept: KeptHistory;
  settings: RunAlertSettings;
}

/**
 * A temporary ledger that replays a workspace's history under its own settings. At each run it contains the rows that
 * the ledger had when its rules ran, and runs the same rules. SQLite keeps it in an unnamed file that disappears with
 * the process. The ledger itself is only read.
 */
export class Replica {
  readonly connection: LedgerDb;
  readonly #source: ReplicaSource;
  readonly #copies;
  readonly #ranges;
  readonly #applied;
  #lastEntryId = 0;

  constructor(source: ReplicaSource) {
    this.#source = source;
    this.connection = new Database('');
    this.#copies = this.#prepare();
    this.#ranges = this.connection
      .prepare(
        `SELECT period_key, min(entry_id) - 1, max(entry_id) FROM usage_entries WHERE entry_id > ? GROUP BY +period_key`,
      )
      .raw();
    this.#applied = this.connection.prepare(
      `UPDATE runs SET status = 'applied', finished_at = @at, applied_seq = @seq, first_entry_id = @firstEntryId,
         entries = @entries WHERE run_key = @runKey`,
    );
  }

  /** Applies the next event of the history. */
  play(link: RecordedLink): void {
    this.connection.transaction(() => {
      if (link.action === 'run') this.#run(link);
      else this.#closeOrReopen(link);
    })();
  }

  close(): void {
    this.connection.close();
  }

  #run(link: RecordedLink): void {
    const { connection } = this;
    const { history, kept, settings } = this.#source;
    const { workspaceKey, workspaceId, firstRunKey } = history;
    const { seq, runKey, runId, fromPeriod, toPeriod, at, firstEntryId, entries } = link;
    const copies = this.#copies;
    const window = { from: fromPeriod, to: toPeriod };
    const lastEntryIdBefore = firstEntryId === null ? this.#lastEntryId : firstEntryId - 1;
    this.#lastEntryId = lastEntryIdBefore + entries;
    copies.run(runKey);
    copies.entries(lastEntryIdBefore, this.#lastEntryId);
    const ranges = this.#ranges.all(lastEntryIdBefore) as [number, number, number][];
    const changed = new Map(ranges.map(([periodKey, after, last]) => [periodKey, { after, last }]));
    for (const periodKey of changed.keys()) copies.period(periodKey);
    coverPeriods(connection, { workspaceKey, runKey, window });
    updateState(connection, { after: lastEntryIdBefore, last: this.#lastEntryId }, false);
    copies.bookedPeriods(runKey, null);
    copies.adjustments(runKey);
    const run = { runKey, runId, workspaceKey, workspaceId, fencingToken: 0, window, first: runKey === firstRunKey };
    const counts = { opened: 0, increased: 0, decreased: 0, withdrawn: 0, restored: 0 };
    countEntries(connection, lastEntryIdBefore, counts);
    const merged = { connection, run, lastEntryIdBefore, counts, changed };
    const nowMs = Date.parse(at);
    kept.forget({ changed: changed.keys(), hasNewRecords: counts.opened > 0 });
    evaluateRun({ ...merged, appliedAt: at, nowMs }, settings, { routes: CHANNELS, kept });
    this.#applied.run({ runKey, at, seq, entries, firstEntryId });
    simulateDelivery(connection, { routes: CHANNELS, nowMs });
  }

  #closeOrReopen({ action, seq, periodKey }: RecordedLink): void {
    const { connection } = this;
    setClosingLink(connection, periodKey, action === 'close' ? seq : null);
    if (action === 'close') freezeFigures(connection, periodKey);
    else {
      unfreezeFigures(connection, periodKey);
      this.#copies.bookedPeriods(null, seq);
    }
  }

  #prepare() {
    const { connection } = this;
    const { ledger, history } = this.#source;
    migrateInMemory(connection);
    // Without a journal, SQLite could not roll back the writes of a rule that throws.
    connection.pragma('journal_mode = MEMORY');
    const copy = (table: string, where: string, columns = '*') => copier(ledger, connection, { table, where, columns });
    for (const table of ['workspaces', 'tenants']) copy(table, 'workspace_key = ?')(history.workspaceKey);
    // Only these columns are copied, because a period is copied before the replay has read, settled or closed it.
    const periods = (where: string) =>
      copy('periods', where, 'period_key, workspace_key, period, period_start, period_end');
    return {
      run: copy(
        'runs',
        'run_key = ?',
        "run_key, run_id, workspace_key, kind, 'running' AS status, fencing_token, from_period, to_period, started_at",
      ),
      entries: copy('usage_entries', 'entry_id > ? AND entry_id <= ?'),
      adjustments: copy('adjustments', 'run_key = ?'),
      period: periods('period_key = ?'),
      bookedPeriods: periods(
        'period_key IN (SELECT booked_period_key FROM adjustments WHERE run_key = ? OR event_seq = ?)',
      ),
    };
  }
}

/** Returns a function that copies the missing rows of one table that match a condition. */
function copier(
  from: LedgerDb,
  into: LedgerDb,
  { table, where, columns }: { table: string; where: string; columns: string },
): (...values: (number | null)[]) => void {
  const read = from.prepare(`SELECT ${columns} FROM ${table} WHERE ${where}`).safeIntegers().raw();
  const names = read.columns().map(({ name }) => name);
  const places = names.map(() => '?').join(', ');
  const write = into.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places}) ON CONFLICT DO NOTHING`);
  return (...values) => {
    for (const row of read.iterate(...values)) write.run(row);
  };
}
