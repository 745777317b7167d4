import type pg from 'pg';
import { isoTime } from '../core/clock.ts';
import { thisProcess } from '../core/process/process-liveness.ts';
import { OPEN_ALERT_STATES_SQL } from '../core/text/alert-words.ts';
import { linkAt } from '../ledger/journal/chain.ts';
import { GENESIS_DIGEST, headOfChain } from '../ledger/journal/runs/digest.ts';
import { keptFromRun } from '../ledger/journal/runs/prune-runs.ts';
import { openReader } from '../ledger/store/file/open.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { ledgerId } from '../ledger/store/schema/identity.ts';
import { type CopyDifference, compareCopy, unitOf } from './compare-copy.ts';
import { copyLines, escapeNul, PAUSE, type PublishTarget, selectLines } from './in-postgres.ts';
import { PublishError } from './refusals.ts';
import { inCopy, viewsOf } from './schema.ts';
import { COPIED_TABLES, type CopiedTable, offsetOf } from './tables.ts';

/** Entries and row changes that are processed between two turns of the event loop. */
const ENTRIES_PER_TURN = 2_000;
/** From this many rows on, ANALYZE updates the statistics of Postgres' planner. */
const MIN_ROWS_FOR_ANALYZE = 50_000;

export interface PublishRequest {
  target: PublishTarget;
  ledgerPath: string;
  nowMs: number;
  /** `check` compares the copy with the ledger afterwards; `repair` also resends the differences. */
  compare?: 'check' | 'repair';
  signal?: AbortSignal;
}

export interface PublishReport {
  /** Position in the chain before this publication; `to` is the one after it. */
  from: number;
  to: number;
  headDigest: string;
  rows: number;
  /** With `compare`: describes a last published link that is not in this ledger; null if it is. */
  divergence: string | null;
  differences: readonly CopyDifference[];
}

type Marks = Readonly<Record<string, number>>;

/** The state of the ledger's copy in Postgres; without marks nothing has been published. */
interface CopyState {
  ledger_key: bigint;
  position: bigint;
  head_digest: string;
  marks: Marks | null;
}

/**
 * Publishes all changes since the last call: one snapshot of the ledger in one transaction of Postgres, together with
 * the new position. Readers there see only complete links of the chain, and the next call repeats work lost in a crash
 * or a broken connection. Throws PublishError: `publish_refused` if another copy of the ledger has published,
 * `publish_taken` if another ledger publishes one of its workspaces.
 */
export async function publishLedger(options: PublishRequest): Promise<PublishReport> {
  const { connection, close } = openReader(options.ledgerPath);
  try {
    const work = async (client: pg.Client): Promise<PublishReport> => {
      const id = ledgerId(connection);
      await client.query('INSERT INTO ledgers (ledger_id) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
      // The row is locked before the snapshot is taken, so that the copy is never ahead of the snapshot.
      const { rows } = await client.query<CopyState>('SELECT * FROM ledgers WHERE ledger_id = $1 FOR UPDATE', [id]);
      connection.exec('BEGIN');
      return new LedgerPublication(options, connection, client, rows[0] as CopyState).publish();
    };
    return await inCopy(options.target, connection, work, options.signal);
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
  /** The keys of the published workspaces; 0 stands for rows of the whole ledger. */
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
    const ourDigest = position === 0n ? GENESIS_DIGEST : linkAt(this.#connection, Number(position))?.digest;
    const isSameChain = this.#copyState.marks === null || ourDigest === digest;
    const divergence = `Postgres has link ${position} (${digest}) of another copy of this ledger, while the head here is link ${head.seq} (${head.digest})`;
    if (!isSameChain && compare === 'check') return { ...report, rows: 0, divergence, differences: [] };
    if (!isSameChain && compare === undefined) {
      throw new PublishError('publish_refused', divergence, {
        hint: 'stop the other copy; to replace it with the ledger of this machine, run `usage-ledger publish --repair`',
      });
    }
    const before = await this.#removeEndedWorkspaces(isSameChain ? this.#copyState.marks : null);
    const now = this.#readMarks(before);
    const isNew = Object.keys(now).some((name) => before[name] !== now[name]);
    if (isNew) await this.#sendChanges(before, now);
    const differences =
      compare === undefined
        ? []
        : await compareCopy(this.#connection, this.#client, this.#ledgerKey, this.#workspaceKeys);
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
   * Deletes ended workspaces from the copy. Returns the marks from which rows must be sent; empty, to send all rows, if
   * a workspace returned.
   */
  async #removeEndedWorkspaces(marks: Marks | null): Promise<Marks> {
    const sql = 'SELECT workspace_key FROM workspaces WHERE ledger_key = $1';
    const { rows } = await this.#client.query<{ workspace_key: bigint }>(sql, [this.#ledgerKey]);
    const publishedKeys = rows.map(({ workspace_key: key }) => Number(key - this.#offset('workspace_key')));
    const hasReturned = (key: number): boolean =>
      key <= (marks?.workspaces ?? 0) && key > 0 && !publishedKeys.includes(key);
    const isComplete = marks === null || this.#workspaceKeys.some(hasReturned);
    const endedKeys = publishedKeys.filter((key) => !this.#workspaceKeys.includes(key));
    // Rows are deleted before the rows they refer to, which tell their workspace.
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

  #readMarks(before: Marks): Marks {
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

  async #sendChanges(before: Marks, now: Marks): Promise<void> {
    const markOf = (name: string): number => before[name] ?? 0;
    await this.#claimWorkspaces(markOf('workspaces'));
    for (const table of COPIED_TABLES) {
      if (table.added !== null) await this.#sendRows(table, `r.${table.added} > ?`, markOf(table.name));
    }
    await this.#sendRuns(before, now);
    const rewritten = this.#numbers(
      `SELECT period_key FROM period_events WHERE event_seq > ?
       UNION SELECT period_key FROM periods WHERE closed_seq IS NULL AND EXISTS (
         SELECT 1 FROM row_changes WHERE change_seq > ? AND table_name = 'rate_cards')`,
      markOf('period_events'),
      markOf('row_changes'),
    );
    for (const name of ['tenant_usage', 'charges', 'charge_lines'])
      await this.#sendCurrentRows(name, before, now, rewritten);
    for (const name of ['closed_usage', 'charges', 'charge_lines']) {
      await this.#replace(name, 'period_key', rewritten);
    }
    // Open alerts are always sent: a run changes their figures without a mark.
    await this.#replace(
      'alerts',
      'alert_key',
      this.#numbers(`SELECT alert_key FROM alerts WHERE state IN ${OPEN_ALERT_STATES_SQL}`),
    );
    for (let from = markOf('row_changes'); from < (now.row_changes ?? 0); from += ENTRIES_PER_TURN) {
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
   * Reserves the new workspaces permanently. A workspace that another ledger publishes waits until that ledger ends it.
   */
  async #claimWorkspaces(mark: number): Promise<void> {
    for (const key of this.#workspaceKeys.filter((one) => one > mark)) {
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
   * Sends runs that are new or were running, because a run changes until it ends. If runs were pruned, the remaining
   * ones are sent again.
   */
  async #sendRuns(before: Marks, now: Marks): Promise<void> {
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
   * Sends the rows with new entries, each once, by its last entry. Postgres finds the old rows by the entries sent
   * before.
   */
  async #sendCurrentRows(name: string, before: Marks, now: Marks, rewritten: readonly number[]): Promise<void> {
    const table = copiedTable(name);
    // Periods in `rewritten` are replaced as a whole elsewhere, except in `tenant_usage`.
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
        yield PAUSE;
      }
    };
    this.#rows += await copyLines(this.#client, table, lines());
  }

  /** Resends the differences by table, workspace and period, and recreates the views. */
  async #repair(differences: readonly CopyDifference[]): Promise<void> {
    for (const table of COPIED_TABLES) {
      const units = differences.filter((difference) => difference.table === table.name).map(({ unit }) => unit);
      if (units.length === 0) continue;
      const offsets = [this.#offset('workspace_key'), this.#offset('period_key')];
      await this.#deleteRows(table, `${unitOf(table, offsets)} = ANY ($2)`, units);
      await this.#sendRows(table, `${unitOf(table)} IN (SELECT value FROM json_each(?))`, JSON.stringify(units));
    }
    for (const sql of viewsOf(this.#connection)) await this.#client.query(sql);
  }

  /** Replaces the copy's rows with these keys by the ledger's. */
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
    return offsetOf(column, this.#ledgerKey) ?? 0n;
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
