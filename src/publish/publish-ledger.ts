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
import { compareCopy, type Difference, unitOf } from './compare-copy.ts';
import { copyLines, escapeNul, PAUSE, type PublishTarget, selectLines } from './in-postgres.ts';
import { PublishError } from './refusals.ts';
import { inCopy, viewsOf } from './schema.ts';
import { COPIED_TABLES, type CopiedTable, offsetOf } from './tables.ts';

/** Entries and row changes that are looked at between two turns of the event loop. */
const STEP = 2_000;
/** From this many rows on the planner of Postgres is told of them at once. */
const NOTABLE_ROWS = 50_000;

export interface PublishOrder {
  target: PublishTarget;
  ledgerPath: string;
  nowMs: number;
  /** `check` compares the copy with the ledger afterwards; `repair` also sends again what differs. */
  compare?: 'check' | 'repair';
  signal?: AbortSignal;
}

export interface PublishReport {
  /** Positions in the chain. */
  from: number;
  to: number;
  headDigest: string;
  rows: number;
  /** Asked to compare: how the last link that was published is not one of this ledger; null when it is. */
  parted: string | null;
  differences: readonly Difference[];
}

type Marks = Readonly<Record<string, number>>;

/** What Postgres holds of the ledger; without marks nothing of it has been published. */
interface Held {
  ledger_key: bigint;
  position: bigint;
  head_digest: string;
  marks: Marks | null;
}

/**
 * Publishes what is new: one snapshot of the ledger in one transaction of Postgres, which holds the position as well.
 * So readers there see whole links of the chain, and the next call does what a crash or a cut has left undone. Throws
 * PublishError, `publish_refused` when another copy of the ledger has published, `publish_taken` when another ledger
 * publishes one of its workspaces.
 */
export async function publishLedger(order: PublishOrder): Promise<PublishReport> {
  const { connection, close } = openReader(order.ledgerPath);
  try {
    const work = async (client: pg.Client): Promise<PublishReport> => {
      const id = ledgerId(connection);
      await client.query('INSERT INTO ledgers (ledger_id) VALUES ($1) ON CONFLICT DO NOTHING', [id]);
      // Locked first, the snapshot taken after it: the copy is never ahead of it.
      const { rows } = await client.query<Held>('SELECT * FROM ledgers WHERE ledger_id = $1 FOR UPDATE', [id]);
      connection.exec('BEGIN');
      return new Publication(order, connection, client, rows[0] as Held).publish();
    };
    return await inCopy(order.target, connection, work, order.signal);
  } finally {
    close();
  }
}

class Publication {
  readonly #order: PublishOrder;
  readonly #connection: LedgerDb;
  readonly #client: pg.Client;
  readonly #held: Held;
  readonly #ledgerKey: number;
  /** The keys of the workspaces that are published; 0 stands for what is about the whole ledger. */
  readonly #workspaceKeys: number[];
  #rows = 0;

  constructor(order: PublishOrder, connection: LedgerDb, client: pg.Client, held: Held) {
    this.#order = order;
    this.#connection = connection;
    this.#client = client;
    this.#held = held;
    this.#ledgerKey = Number(held.ledger_key);
    this.#workspaceKeys = [0, ...this.#list('SELECT workspace_key FROM workspaces WHERE ended_seq IS NULL')];
  }

  async publish(): Promise<PublishReport> {
    const { compare } = this.#order;
    const { position, head_digest: digest } = this.#held;
    const head = headOfChain(this.#connection);
    const report = { from: Number(position), to: head.seq, headDigest: head.digest };
    const ours = position === 0n ? GENESIS_DIGEST : linkAt(this.#connection, Number(position))?.digest;
    const isOurs = this.#held.marks === null || ours === digest;
    const parted = `Postgres holds link ${position} (${digest}) of another copy of this ledger, whose head is link ${head.seq} (${head.digest})`;
    if (!isOurs && compare === 'check') return { ...report, rows: 0, parted, differences: [] };
    if (!isOurs && compare === undefined) {
      throw new PublishError('publish_refused', parted, {
        hint: 'stop the other copy; `usage-ledger publish --repair` puts the ledger of this machine in its place',
      });
    }
    const before = await this.#settleWorkspaces(isOurs ? this.#held.marks : null);
    const now = this.#readMarks(before);
    const isNew = Object.keys(now).some((name) => before[name] !== now[name]);
    if (isNew) await this.#sendNew(before, now);
    const differences =
      compare === undefined
        ? []
        : await compareCopy(this.#connection, this.#client, this.#ledgerKey, this.#workspaceKeys);
    if (compare === 'repair') await this.#repair(differences);
    if (isNew || this.#rows > 0 || report.from !== head.seq) {
      await this.#client.query(
        `UPDATE ledgers SET position = $2, head_digest = $3, marks = $4, published_at = $5, published_by = $6
         WHERE ledger_key = $1`,
        [this.#ledgerKey, head.seq, head.digest, now, isoTime(this.#order.nowMs), thisProcess().host],
      );
    }
    if (this.#rows >= NOTABLE_ROWS) for (const { name } of COPIED_TABLES) await this.#client.query(`ANALYZE ${name}`);
    return { ...report, rows: this.#rows, parted: isOurs ? null : parted, differences };
  }

  /** Takes out the workspaces that were ended. Returns from where on rows are to be sent: from the first for one that is back. */
  async #settleWorkspaces(marks: Marks | null): Promise<Marks> {
    const sql = 'SELECT workspace_key FROM workspaces WHERE ledger_key = $1';
    const { rows } = await this.#client.query<{ workspace_key: bigint }>(sql, [this.#ledgerKey]);
    const there = rows.map(({ workspace_key: key }) => Number(key - this.#offset('workspace_key')));
    const isBack = (key: number): boolean => key <= (marks?.workspaces ?? 0) && key > 0 && !there.includes(key);
    const isWhole = marks === null || this.#workspaceKeys.some(isBack);
    const ended = there.filter((key) => !this.#workspaceKeys.includes(key));
    // Rows before those that they refer to, by which their workspace is known.
    for (const table of COPIED_TABLES.toReversed()) {
      if (isWhole && this.#held.marks !== null) await this.#take(table, 'true');
      else if (ended.length > 0) {
        await this.#take(table, `${table.workspace} = ANY ($2::bigint[])`, this.#shifted('workspace_key', ended));
      }
    }
    return isWhole ? {} : marks;
  }

  #readMarks(before: Marks): Marks {
    const highest = (column: string, table: string): number =>
      this.#list(`SELECT coalesce(max(${column}), 0) FROM ${table}`)[0] ?? 0;
    const running = "SELECT min(run_key) - 1 FROM runs WHERE status = 'running' AND run_key > ? HAVING count(*) > 0";
    const marks: Record<string, number> = {
      workspaces: highest('workspace_key', 'workspaces'),
      runs: this.#list(running, before.runs ?? 0)[0] ?? highest('run_key', 'runs'),
      begun_runs: highest('run_key', 'runs'),
      kept_from_run: keptFromRun(this.#connection),
      row_changes: highest('change_seq', 'row_changes'),
    };
    for (const { name, added } of COPIED_TABLES) if (added !== null) marks[name] = highest(added, name);
    return marks;
  }

  async #sendNew(before: Marks, now: Marks): Promise<void> {
    const markOf = (name: string): number => before[name] ?? 0;
    await this.#claimWorkspaces(markOf('workspaces'));
    for (const table of COPIED_TABLES) {
      if (table.added !== null) await this.#send(table, `r.${table.added} > ?`, markOf(table.name));
    }
    await this.#sendRuns(before, now);
    const rewritten = this.#list(
      `SELECT period_key FROM period_events WHERE event_seq > ?
       UNION SELECT period_key FROM periods WHERE closed_seq IS NULL AND EXISTS (
         SELECT 1 FROM row_changes WHERE change_seq > ? AND table_name = 'rate_cards')`,
      markOf('period_events'),
      markOf('row_changes'),
    );
    for (const name of ['tenant_usage', 'charges', 'charge_lines']) await this.#sendState(name, before, now, rewritten);
    for (const name of ['closed_usage', 'charges', 'charge_lines']) {
      await this.#replace(name, 'period_key', rewritten);
    }
    // A run changes figures of open alerts without a mark.
    await this.#replace(
      'alerts',
      'alert_key',
      this.#list(`SELECT alert_key FROM alerts WHERE state IN ${OPEN_ALERT_STATES_SQL}`),
    );
    for (let from = markOf('row_changes'); from < (now.row_changes ?? 0); from += STEP) {
      const changed = (table: string): number[] =>
        this.#list(
          `SELECT DISTINCT CAST(row_key AS INTEGER) FROM row_changes WHERE change_seq > ? AND change_seq <= ? AND table_name = ?`,
          ...[from, from + STEP, table],
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

  /** For good: what another ledger publishes waits until that has ended it. */
  async #claimWorkspaces(mark: number): Promise<void> {
    for (const key of this.#workspaceKeys.filter((one) => one > mark)) {
      const [id] = this.#connection
        .prepare('SELECT workspace_id FROM workspaces WHERE workspace_key = ?')
        .pluck()
        .all(key);
      const { rowCount } = await this.#client.query(
        'INSERT INTO workspaces (ledger_key, workspace_key, workspace_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
        [this.#ledgerKey, this.#shifted('workspace_key', [key])[0], escapeNul(String(id))],
      );
      if (rowCount === 1) continue;
      throw new PublishError('publish_taken', `another ledger publishes the workspace ${JSON.stringify(id)}`, {
        hint: 'one machine reads a workspace: call `usage-ledger workspace end` on the other and let it publish; what waits here follows by itself',
        retryable: true,
      });
    }
  }

  /** A run changes until it has ended. Where runs were pruned, those that are left are sent again. */
  async #sendRuns(before: Marks, now: Marks): Promise<void> {
    const run = before.runs ?? 0;
    const keys = [run, before.kept_from_run ?? 0, (now.kept_from_run ?? 0) - 1];
    const runs = copiedTable('runs');
    await this.#take(runs, 'r.run_key > $2 OR r.run_key BETWEEN $3 AND $4', ...this.#shifted('run_key', keys));
    await this.#send(runs, 'r.run_key > ? OR r.run_key BETWEEN ? AND ?', ...keys);
    const touched = this.#list(
      `SELECT workspace_key FROM runs WHERE run_key > ?
       UNION SELECT workspace_key FROM period_events WHERE event_seq > ?
       UNION SELECT t.workspace_key FROM row_changes c JOIN manual_lines m ON m.line_id = CAST(c.row_key AS INTEGER)
         JOIN tenants t USING (tenant_key) WHERE c.change_seq > ? AND c.table_name = 'manual_lines'`,
      run,
      before.period_events ?? 0,
      before.row_changes ?? 0,
    );
    await this.#replace('periods', 'workspace_key', touched);
  }

  /** The rows of the keys that have new entries, each by its last one; in Postgres the entries that have come name them. */
  async #sendState(name: string, before: Marks, now: Marks, rewritten: readonly number[]): Promise<void> {
    const table = copiedTable(name);
    // These come as a whole, but for the figures.
    const left = JSON.stringify(name === 'tenant_usage' ? [] : rewritten);
    const isLeft = 'r.period_key NOT IN (SELECT value FROM json_each(?))';
    const [from = 0, to = 0] = [before.usage_entries, now.usage_entries];
    if (from === 0) return this.#send(table, isLeft, left);
    if (from === to) return;
    const isChanged =
      '(r.period_key, r.tenant_key) IN (SELECT period_key, tenant_key FROM usage_entries WHERE ledger_key = $1 AND entry_id > $2)';
    await this.#take(table, isChanged, from);
    const statement = this.#connection
      .prepare(
        `${selectLines(table, this.#ledgerKey)} FROM usage_entries e
         CROSS JOIN ${name} r ON r.period_key = e.period_key AND r.tenant_key = e.tenant_key
         WHERE e.entry_id > ? AND e.entry_id <= ? AND ${isLeft} AND ${this.#isPublished(table)}
           AND NOT EXISTS (SELECT 1 FROM usage_entries n
             WHERE n.period_key = e.period_key AND n.tenant_key = e.tenant_key AND n.entry_id > e.entry_id)`,
      )
      .pluck();
    const lines = function* (): Generator<string, void> {
      for (let step = from; step < to; step += STEP) {
        yield* statement.iterate(step, Math.min(step + STEP, to), left) as IterableIterator<string>;
        yield PAUSE;
      }
    };
    this.#rows += await copyLines(this.#client, table, lines());
  }

  /** Sends what differs again, by table, workspace and period, and makes the views anew. */
  async #repair(differences: readonly Difference[]): Promise<void> {
    for (const table of COPIED_TABLES) {
      const units = differences.filter((difference) => difference.table === table.name).map(({ unit }) => unit);
      if (units.length === 0) continue;
      const offsets = [this.#offset('workspace_key'), this.#offset('period_key')];
      await this.#take(table, `${unitOf(table, offsets)} = ANY ($2)`, units);
      await this.#send(table, `${unitOf(table)} IN (SELECT value FROM json_each(?))`, JSON.stringify(units));
    }
    for (const sql of viewsOf(this.#connection)) await this.#client.query(sql);
  }

  /** Puts the ledger's rows with these keys in the place of the copy's. */
  async #replace(name: string, column: string, keys: readonly number[]): Promise<void> {
    if (keys.length === 0) return;
    const table = copiedTable(name);
    await this.#take(table, `r.${column} = ANY ($2::bigint[])`, this.#shifted(column, keys));
    await this.#send(table, `r.${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(keys));
  }

  async #take(table: CopiedTable, where: string, ...values: unknown[]): Promise<void> {
    await this.#client.query(`DELETE FROM ${table.name} r WHERE r.ledger_key = $1 AND (${where})`, [
      this.#ledgerKey,
      ...values,
    ]);
  }

  async #send(table: CopiedTable, where: string, ...values: unknown[]): Promise<void> {
    const rows = `${selectLines(table, this.#ledgerKey)} FROM ${table.name} r`;
    const statement = this.#connection.prepare(`${rows} WHERE (${where}) AND ${this.#isPublished(table)}`).pluck();
    this.#rows += await copyLines(this.#client, table, statement.iterate(...values) as IterableIterator<string>);
  }

  #isPublished({ workspace }: CopiedTable): string {
    return `coalesce(${workspace}, 0) IN (${this.#workspaceKeys.join(', ')})`;
  }

  #list(sql: string, ...values: unknown[]): number[] {
    return this.#connection
      .prepare(sql)
      .pluck()
      .all(...values) as number[];
  }

  #offset(column: string): bigint {
    return offsetOf(column, this.#ledgerKey) ?? 0n;
  }

  #shifted(column: string, keys: readonly number[]): string[] {
    return keys.map((key) => String(BigInt(key) + this.#offset(column)));
  }
}

function copiedTable(name: string): CopiedTable {
  const found = COPIED_TABLES.find((table) => table.name === name);
  if (found === undefined) throw new Error(`the table ${name} is not published`);
  return found;
}
