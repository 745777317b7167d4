import type pg from 'pg';
import { isoTime } from '../core/clock.ts';
import { thisProcess } from '../core/process/process-liveness.ts';
import { OPEN_ALERT_STATES_SQL } from '../core/text/alert-words.ts';
import { findLink } from '../ledger/journal/chain.ts';
import { GENESIS_DIGEST, headOfChain } from '../ledger/journal/runs/digest.ts';
import { keptFromRun } from '../ledger/journal/runs/prune-runs.ts';
import { openReader } from '../ledger/store/file/open.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type CopyDifference, findCopyDifferences, unitSql } from './compare-copy.ts';
import { copyLines, escapeNul, type PublishTarget, selectLines, YIELD_LINE } from './in-postgres.ts';
import { PublishError } from './refusals.ts';
import { createViewStatements, inCopySchema } from './schema.ts';
import { COPIED_TABLES, type CopiedTable, keyOffset } from './tables.ts';

/** Number of entries or row changes that are processed before the event loop may run. */
const ENTRIES_PER_TURN = 2_000;
/** If at least this many rows were sent, ANALYZE updates the statistics of Postgres' query planner. */
const MIN_ROWS_FOR_ANALYZE = 50_000;

export interface PublishRequest {
  target: PublishTarget;
  ledgerPath: string;
  nowMs: number;
  /**
   * `check`: compares the copy with the ledger after publishing. `repair`: compares them, too, and replaces the rows
   * that differ.
   */
  compare?: 'check' | 'repair';
  signal?: AbortSignal;
}

export interface PublishReport {
  /** `from`: the last link of the chain that had been published before. `to`: the last link that is published now. */
  from: number;
  to: number;
  headDigest: string;
  rows: number;
  /**
   * A description of the last published link if this ledger does not contain that link; otherwise null. Set only with
   * `compare`.
   */
  divergence: string | null;
  differences: readonly CopyDifference[];
}

/**
 * The highest key that has been published, for each append-only table, and for runs, row changes and workspaces. Rows
 * with higher keys are new.
 */
type PublishedKeys = Readonly<Record<string, number>>;

/** The state of the ledger's copy, as stored in Postgres. If `marks` is null, nothing has been published. */
interface CopyState {
  ledger_key: bigint;
  position: bigint;
  head_digest: string;
  marks: PublishedKeys | null;
}

/**
 * Publishes all changes since the last call. One transaction of Postgres contains one snapshot of the ledger and the
 * new position, so readers of the copy see only complete links of the chain. After a crash or a broken connection, the
 * next call repeats the work. Throws PublishError: `publish_refused` if another copy of this ledger has published,
 * `publish_taken` if another ledger publishes one of its workspaces.
 */
export async function publishLedger(options: PublishRequest): Promise<PublishReport> {
  const { connection, close } = openReader(options.ledgerPath);
  try {
    const work = async (client: pg.Client): Promise<PublishReport> => {
      const id = ledgerId(connection);
      await client.query('INSERT INTO ledgers (ledger_id) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
      // Locks the row before it takes the snapshot of the ledger: otherwise another publisher could make the copy newer
      // than the snapshot.
      const { rows } = await client.query<CopyState>('SELECT * FROM ledgers WHERE ledger_id = $1 FOR UPDATE', [id]);
      connection.exec('BEGIN');
      return new LedgerPublication(options, connection, client, rows[0] as CopyState).publish();
    };
    return await inCopySchema(options.target, connection, work, options.signal);
  } finally {
    close();
  }
}

class LedgerPublication {
  readonly #options: PublishRequest;
  readonly #connection: LedgerDb;
  readonly #client: pg.Client;
  readonly #copyState: CopyState;
  readonly #ledgerKey: number;
  /** The keys of the published workspaces, and 0 for rows that belong to no workspace. */
  readonly #workspaceKeys: number[];
  #rows = 0;

  constructor(options: PublishRequest, connection: LedgerDb, client: pg.Client, copyState: CopyState) {
    this.#options = options;
    this.#connection = connection;
    this.#client = client;
    this.#copyState = copyState;
    this.#ledgerKey = Number(copyState.ledger_key);
    this.#workspaceKeys = [0, ...this.#numbers('SELECT workspace_key FROM workspaces WHERE ended_seq IS NULL')];
  }

  async publish(): Promise<PublishReport> {
    const { compare } = this.#options;
    const { position, head_digest: digest } = this.#copyState;
    const head = headOfChain(this.#connection);
    const report = { from: Number(position), to: head.seq, headDigest: head.digest };
    const ourDigest = position === 0n ? GENESIS_DIGEST : findLink(this.#connection, Number(position))?.digest;
    const isSameChain = this.#copyState.marks === null || ourDigest === digest;
    const divergence = `Postgres has link ${position} (${digest}) of another copy of this ledger, while the head here is link ${head.seq} (${head.digest})`;
    if (!isSameChain && compare === 'check') return { ...report, rows: 0, divergence, differences: [] };
    if (!isSameChain && compare === undefined) {
      throw new PublishError('publish_refused', divergence, {
        hint: "stop the daemon that publishes another copy of this ledger; to replace the data in Postgres with this machine's ledger, run `usage-ledger publish --repair`",
      });
    }
    const before = await this.#removeEndedWorkspaces(isSameChain ? this.#copyState.marks : null);
    const now = this.#readHighestKeys(before);
    const isNew = Object.keys(now).some((name) => before[name] !== now[name]);
    if (isNew) await this.#sendChanges(before, now);
    const differences =
      compare === undefined
        ? []
        : await findCopyDifferences(this.#connection, this.#client, this.#ledgerKey, this.#workspaceKeys);
    if (compare === 'repair') await this.#repair(differences);
    if (isNew || this.#rows > 0 || report.from !== head.seq) {
      await this.#client.query(
        `UPDATE ledgers SET position = $2, head_digest = $3, marks = $4, published_at = $5, published_by = $6
         WHERE ledger_key = $1`,
        [this.#ledgerKey, head.seq, head.digest, now, isoTime(this.#options.nowMs), thisProcess().host],
      );
    }
    if (this.#rows >= MIN_ROWS_FOR_ANALYZE)
      for (const { name } of COPIED_TABLES) await this.#client.query(`ANALYZE ${name}`);
    return { ...report, rows: this.#rows, divergence: isSameChain ? null : divergence, differences };
  }

  /**
   * Deletes retired workspaces from the copy. Returns the keys after which rows must be sent. If a retired workspace
   * has been resumed, deletes all rows and returns no keys, so that all rows are sent again.
   */
  async #removeEndedWorkspaces(marks: PublishedKeys | null): Promise<PublishedKeys> {
    const sql = 'SELECT workspace_key FROM workspaces WHERE ledger_key = $1';
    const { rows } = await this.#client.query<{ workspace_key: bigint }>(sql, [this.#ledgerKey]);
    const publishedKeys = rows.map(({ workspace_key: key }) => Number(key - this.#offset('workspace_key')));
    const hasReturned = (key: number): boolean =>
      key <= (marks?.workspaces ?? 0) && key > 0 && !publishedKeys.includes(key);
    const isComplete = marks === null || this.#workspaceKeys.some(hasReturned);
    const endedKeys = publishedKeys.filter((key) => !this.#workspaceKeys.includes(key));
    // Rows are deleted before the rows they refer to: a row's workspace may be known only from the row it refers to.
    for (const table of COPIED_TABLES.toReversed()) {
      if (isComplete && this.#copyState.marks !== null) await this.#deleteRows(table, 'true');
      else if (endedKeys.length > 0) {
        await this.#deleteRows(
          table,
          `${table.workspace} = ANY ($2::bigint[])`,
          this.#copyKeys('workspace_key', endedKeys),
        );
      }
    }
    return isComplete ? {} : marks;
  }

  #readHighestKeys(before: PublishedKeys): PublishedKeys {
    const highest = (column: string, table: string): number =>
      this.#numbers(`SELECT coalesce(max(${column}), 0) FROM ${table}`)[0] ?? 0;
    const running = "SELECT min(run_key) - 1 FROM runs WHERE status = 'running' AND run_key > ? HAVING count(*) > 0";
    const marks: Record<string, number> = {
      workspaces: highest('workspace_key', 'workspaces'),
      runs: this.#numbers(running, before.runs ?? 0)[0] ?? highest('run_key', 'runs'),
      begun_runs: highest('run_key', 'runs'),
      kept_from_run: keptFromRun(this.#connection),
      row_changes: highest('change_seq', 'row_changes'),
    };
    for (const { name, added } of COPIED_TABLES) if (added !== null) marks[name] = highest(added, name);
    return marks;
  }

  async #sendChanges(before: PublishedKeys, now: PublishedKeys): Promise<void> {
    const sentKey = (name: string): number => before[name] ?? 0;
    await this.#claimWorkspaces(sentKey('workspaces'));
    for (const table of COPIED_TABLES) {
      if (table.added !== null) await this.#sendRows(table, `r.${table.added} > ?`, sentKey(table.name));
    }
    await this.#sendRuns(before, now);
    const rewritten = this.#numbers(
      `SELECT period_key FROM period_events WHERE event_seq > ?
       UNION SELECT period_key FROM periods WHERE closed_seq IS NULL AND EXISTS (
         SELECT 1 FROM row_changes WHERE change_seq > ? AND table_name = 'rate_cards')`,
      sentKey('period_events'),
      sentKey('row_changes'),
    );
    for (const name of ['tenant_usage', 'charges', 'charge_lines'])
      await this.#sendCurrentRows(name, before, now, rewritten);
    for (const name of ['closed_usage', 'charges', 'charge_lines']) {
      await this.#replace(name, 'period_key', rewritten);
    }
    // Open alerts are always sent, because `row_changes` does not list them when a run changes their figures.
    await this.#replace(
      'alerts',
      'alert_key',
      this.#numbers(`SELECT alert_key FROM alerts WHERE state IN ${OPEN_ALERT_STATES_SQL}`),
    );
    for (let from = sentKey('row_changes'); from < (now.row_changes ?? 0); from += ENTRIES_PER_TURN) {
      const changed = (table: string): number[] =>
        this.#numbers(
          `SELECT DISTINCT CAST(row_key AS INTEGER) FROM row_changes WHERE change_seq > ? AND change_seq <= ? AND table_name = ?`,
          ...[from, from + ENTRIES_PER_TURN, table],
        );
      await this.#replace('tenant_names', 'tenant_key', changed('tenant_names'));
      await this.#replace('rate_cards', 'card_key', changed('rate_cards'));
      await this.#replace('manual_lines', 'line_id', changed('manual_lines'));
      await this.#replace('alerts', 'alert_key', changed('alerts'));
      await this.#replace('alert_transitions', 'alert_key', changed('alert_transitions'));
      await this.#replace('deliveries', 'delivery_key', changed('deliveries'));
      await this.#replace('delivery_members', 'delivery_key', changed('delivery_members'));
    }
  }

  /**
   * Reserves the new workspaces for this ledger, until this ledger retires them. Throws `publish_taken` if another
   * ledger has reserved one of them.
   */
  async #claimWorkspaces(lastKey: number): Promise<void> {
    for (const key of this.#workspaceKeys.filter((one) => one > lastKey)) {
      const [id] = this.#connection
        .prepare('SELECT workspace_id FROM workspaces WHERE workspace_key = ?')
        .pluck()
        .all(key);
      const { rowCount } = await this.#client.query(
        'INSERT INTO workspaces (ledger_key, workspace_key, workspace_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [this.#ledgerKey, this.#copyKeys('workspace_key', [key])[0], escapeNul(String(id))],
      );
      if (rowCount === 1) continue;
      throw new PublishError('publish_taken', `another ledger publishes the workspace ${JSON.stringify(id)}`, {
        hint: 'run `usage-ledger workspace end` on the other machine and let it publish: only one machine may sync a workspace; pending changes are published later automatically',
        retryable: true,
      });
    }
  }

  /**
   * Sends the runs that are new or were still running at the last publication, because a run changes until it ends. If
   * the ledger has deleted old runs since, the copied runs in the range of the deleted ones are replaced by those that
   * remain.
   */
  async #sendRuns(before: PublishedKeys, now: PublishedKeys): Promise<void> {
    const run = before.runs ?? 0;
    const keys = [run, before.kept_from_run ?? 0, (now.kept_from_run ?? 0) - 1];
    const runs = copiedTable('runs');
    await this.#deleteRows(runs, 'r.run_key > $2 OR r.run_key BETWEEN $3 AND $4', ...this.#copyKeys('run_key', keys));
    await this.#sendRows(runs, 'r.run_key > ? OR r.run_key BETWEEN ? AND ?', ...keys);
    const touchedWorkspaces = this.#numbers(
      `SELECT workspace_key FROM runs WHERE run_key > ?
       UNION SELECT workspace_key FROM period_events WHERE event_seq > ?
       UNION SELECT t.workspace_key FROM row_changes c JOIN manual_lines m ON m.line_id = CAST(c.row_key AS INTEGER)
         JOIN tenants t USING (tenant_key) WHERE c.change_seq > ? AND c.table_name = 'manual_lines'`,
      run,
      before.period_events ?? 0,
      before.row_changes ?? 0,
    );
    await this.#replace('periods', 'workspace_key', touchedWorkspaces);
  }

  /**
   * Sends the current row of every tenant and period that has new entries. A row with several new entries is sent once,
   * with the last of these entries. The outdated rows are deleted first: Postgres finds them by the new entries, which
   * have already been sent.
   */
  async #sendCurrentRows(
    name: string,
    before: PublishedKeys,
    now: PublishedKeys,
    rewritten: readonly number[],
  ): Promise<void> {
    const table = copiedTable(name);
    // In all tables except `tenant_usage`, `#sendChanges` replaces all rows of the periods in `rewritten`.
    const excluded = JSON.stringify(name === 'tenant_usage' ? [] : rewritten);
    const isIncluded = 'r.period_key NOT IN (SELECT value FROM json_each(?))';
    const [from = 0, to = 0] = [before.usage_entries, now.usage_entries];
    if (from === 0) return this.#sendRows(table, isIncluded, excluded);
    if (from === to) return;
    const isChanged =
      '(r.period_key, r.tenant_key) IN (SELECT period_key, tenant_key FROM usage_entries WHERE ledger_key = $1 AND entry_id > $2)';
    await this.#deleteRows(table, isChanged, from);
    const statement = this.#connection
      .prepare(
        `${selectLines(table, this.#ledgerKey)} FROM usage_entries e
         CROSS JOIN ${name} r ON r.period_key = e.period_key AND r.tenant_key = e.tenant_key
         WHERE e.entry_id > ? AND e.entry_id <= ? AND ${isIncluded} AND ${this.#isPublished(table)}
           AND NOT EXISTS (SELECT 1 FROM usage_entries n
             WHERE n.period_key = e.period_key AND n.tenant_key = e.tenant_key AND n.entry_id > e.entry_id)`,
      )
      .pluck();
    const lines = function* (): Generator<string, void> {
      for (let step = from; step < to; step += ENTRIES_PER_TURN) {
        yield* statement.iterate(step, Math.min(step + ENTRIES_PER_TURN, to), excluded) as IterableIterator<string>;
        yield YIELD_LINE;
      }
    };
    this.#rows += await copyLines(this.#client, table, lines());
  }

  /** Replaces all rows of each table, workspace and period that differs, and recreates the views. */
  async #repair(differences: readonly CopyDifference[]): Promise<void> {
    for (const table of COPIED_TABLES) {
      const units = differences.filter((difference) => difference.table === table.name).map(({ unit }) => unit);
      if (units.length === 0) continue;
      const offsets = [this.#offset('workspace_key'), this.#offset('period_key')];
      await this.#deleteRows(table, `${unitSql(table, offsets)} = ANY ($2)`, units);
      await this.#sendRows(table, `${unitSql(table)} IN (SELECT value FROM json_each(?))`, JSON.stringify(units));
    }
    for (const sql of createViewStatements(this.#connection)) await this.#client.query(sql);
  }

  /** Deletes the rows in Postgres whose `column` has one of these keys, and sends the ledger's rows with these keys. */
  async #replace(name: string, column: string, keys: readonly number[]): Promise<void> {
    if (keys.length === 0) return;
    const table = copiedTable(name);
    await this.#deleteRows(table, `r.${column} = ANY ($2::bigint[])`, this.#copyKeys(column, keys));
    await this.#sendRows(table, `r.${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(keys));
  }

  async #deleteRows(table: CopiedTable, where: string, ...values: unknown[]): Promise<void> {
    await this.#client.query(`DELETE FROM ${table.name} r WHERE r.ledger_key = $1 AND (${where})`, [
      this.#ledgerKey,
      ...values,
    ]);
  }

  async #sendRows(table: CopiedTable, where: string, ...values: unknown[]): Promise<void> {
    const rows = `${selectLines(table, this.#ledgerKey)} FROM ${table.name} r`;
    const statement = this.#connection.prepare(`${rows} WHERE (${where}) AND ${this.#isPublished(table)}`).pluck();
    this.#rows += await copyLines(this.#client, table, statement.iterate(...values) as IterableIterator<string>);
  }

  #isPublished({ workspace }: CopiedTable): string {
    return `coalesce(${workspace}, 0) IN (${this.#workspaceKeys.join(', ')})`;
  }

  #numbers(sql: string, ...values: unknown[]): number[] {
    return this.#connection
      .prepare(sql)
      .pluck()
      .all(...values) as number[];
  }

  #offset(column: string): bigint {
    return keyOffset(column, this.#ledgerKey) ?? 0n;
  }

  #copyKeys(column: string, keys: readonly number[]): string[] {
    return keys.map((key) => String(BigInt(key) + this.#offset(column)));
  }
}

function copiedTable(name: string): CopiedTable {
  const found = COPIED_TABLES.find((table) => table.name === name);
  if (found === undefined) throw new Error(`the table ${name} is not published`);
  return found;
}
