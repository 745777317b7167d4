import Database from 'better-sqlite3';
import { countEntries, updateState } from '../../ledger/journal/runs/merge-staged.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { windowBounds } from '../../ledger/store/schema/keys.ts';
import { migrateInMemory } from '../../ledger/store/schema/migrate.ts';
import { evaluateRun, type RunAlertSettings } from '../evaluate/evaluate-run.ts';
import { routesOf } from '../notify/routes.ts';
import type { Moment, RecordedHistory } from './history.ts';

/** The one receiver that notifications of a replay are counted for; nothing is ever sent to it. */
const CHANNELS = routesOf([{ type: 'log', name: 'backtest' }]);

/**
 * A throw-away ledger that goes through a workspace's history once more, under settings of its own: at each run it holds
 * what the ledger held when the rules looked at it, and the same rules look again. SQLite keeps it in a file without a
 * name, which is gone with the process whatever ends it. The ledger itself is only read.
 */
export class Replica {
  readonly connection: LedgerConnection;
  readonly #history: RecordedHistory;
  readonly #ledger: LedgerConnection;
  readonly #settings: RunAlertSettings;
  readonly #statements;

  constructor(ledger: LedgerConnection, history: RecordedHistory, settings: Omit<RunAlertSettings, 'channels'>) {
    this.#history = history;
    this.#ledger = ledger;
    this.#settings = { ...settings, channels: CHANNELS };
    this.connection = new Database('');
    try {
      this.#statements = this.#prepare(ledger);
    } catch (error) {
      this.connection.close();
      throw error;
    }
  }

  /** Goes on by what happened next. */
  play(moment: Moment): void {
    this.connection.transaction(() => {
      if (moment.action === 'run') this.#run(moment);
      else this.#closeOrReopen(moment);
    })();
  }

  close(): void {
    this.connection.close();
  }

  #run(moment: Moment): void {
    const { connection } = this;
    const { workspaceKey, workspaceId, firstRunKey } = this.#history;
    const { runKey, runId, fromPeriod, toPeriod, at, firstEntryId, entries } = moment;
    const statements = this.#statements;
    const window = { from: fromPeriod, to: toPeriod };
    const lastEntryIdBefore = firstEntryId === null ? 0 : firstEntryId - 1;
    statements.beginRun(runKey);
    // Rules look at the entries of their own run only; what came of those before stands in the state.
    statements.forgetEntries.run();
    statements.entries(lastEntryIdBefore, lastEntryIdBefore + entries);
    const changedPeriods = new Set(statements.periodsWithEntries.all() as number[]);
    this.#addPeriods([...changedPeriods]);
    statements.cover.run(runKey, workspaceKey, ...windowBounds(window));
    updateState(connection, { after: lastEntryIdBefore, last: lastEntryIdBefore + entries }, false);
    this.#addPeriods(statements.bookings.all(runKey, null));
    statements.adjustments(runKey);
    const run = { runKey, runId, workspaceKey, workspaceId, fencingToken: 0, window, first: runKey === firstRunKey };
    const counts = { opened: 0, increased: 0, decreased: 0, withdrawn: 0, restored: 0 };
    countEntries(connection, lastEntryIdBefore, counts);
    const merged = { connection, run, lastEntryIdBefore, counts, changedPeriods };
    evaluateRun({ ...merged, appliedAt: at, nowMs: Date.parse(at) }, this.#settings, {
      history: this.#ledger,
    });
    statements.endRun.run(at, runKey);
  }

  #closeOrReopen({ action, seq, periodKey }: Moment): void {
    const statements = this.#statements;
    if (action === 'close') {
      statements.freeze.run(periodKey);
      statements.setClosed.run(seq, periodKey);
    } else {
      statements.unfreeze.run(periodKey);
      statements.setClosed.run(null, periodKey);
      this.#addPeriods(statements.bookings.all(null, seq));
    }
  }

  /** A period is known from the first record or booking in it on; by then no run has covered, settled or closed it. */
  #addPeriods(periodKeys: readonly unknown[]): void {
    for (const periodKey of periodKeys as number[]) {
      if (this.#statements.knowsPeriod.get(periodKey) === undefined) this.#statements.addPeriod(periodKey);
    }
  }

  #prepare(ledger: LedgerConnection) {
    const { connection } = this;
    migrateInMemory(connection);
    connection.pragma('journal_mode = OFF');
    // These entries are copies of one run at a time: the ledger keeps the history, and so few need no index.
    connection.exec('DROP TRIGGER usage_entries_no_delete; DROP INDEX usage_entries_by_key');
    const copy = (table: string, where: string, columns = '*') => copier(ledger, connection, { table, where, columns });
    for (const table of ['workspaces', 'tenants']) copy(table, 'workspace_key = ?')(this.#history.workspaceKey);
    return {
      beginRun: copy(
        'runs',
        'run_key = ?',
        "run_key, run_id, workspace_key, kind, 'running' AS status, fencing_token, from_period, to_period, started_at",
      ),
      endRun: connection.prepare("UPDATE runs SET status = 'applied', finished_at = ? WHERE run_key = ?"),
      forgetEntries: connection.prepare('DELETE FROM usage_entries'),
      entries: copy('usage_entries', 'entry_id > ? AND entry_id <= ?'),
      periodsWithEntries: connection.prepare('SELECT DISTINCT period_key FROM usage_entries').pluck(),
      adjustments: copy('adjustments', 'run_key = ?'),
      bookings: ledger
        .prepare('SELECT DISTINCT booked_period_key FROM adjustments WHERE run_key = ? OR event_seq = ?')
        .pluck(),
      knowsPeriod: connection.prepare('SELECT 1 FROM periods WHERE period_key = ?'),
      addPeriod: copy('periods', 'period_key = ?', 'period_key, workspace_key, period, period_start, period_end'),
      cover: connection.prepare(
        'UPDATE periods SET covered_run_key = ? WHERE workspace_key = ? AND period >= ? AND period <= ?',
      ),
      freeze: connection.prepare('INSERT INTO closed_usage SELECT * FROM tenant_usage WHERE period_key = ?'),
      unfreeze: connection.prepare('DELETE FROM closed_usage WHERE period_key = ?'),
      setClosed: connection.prepare('UPDATE periods SET closed_seq = ? WHERE period_key = ?'),
    };
  }
}

/** Returns what copies the rows of one table that fit a condition, one at a time. */
function copier(
  from: LedgerConnection,
  into: LedgerConnection,
  { table, where, columns }: { table: string; where: string; columns: string },
): (...values: (number | null)[]) => void {
  const read = from.prepare(`SELECT ${columns} FROM ${table} WHERE ${where}`).safeIntegers().raw();
  const names = read.columns().map(({ name }) => name);
  const places = names.map(() => '?').join(', ');
  const write = into.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`);
  return (...values) => {
    for (const row of read.iterate(...values)) write.run(row);
  };
}
