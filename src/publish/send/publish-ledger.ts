import { isoTime } from '../../core/clock.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { and, count, eq, gt, gte, lt, lte, type SQL } from '../../ledger/store/schema/drizzle.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { runs, walks } from '../../ledger/store/schema/run-tables.ts';
import type { ReplicaClient } from '../connect.ts';
import { findUncounted } from '../receive/find-holder.ts';
import { MIRRORS } from '../replica/mirrors.ts';
import {
  addedRows,
  allRows,
  changedRows,
  changedRuns,
  changedState,
  ofPeriod,
  rewrittenPeriods,
  wholeTables,
} from './changed-rows.ts';
import { copyInto, copyLines, type Rows } from './copy-rows.ts';
import {
  type LocalState,
  lockReplica,
  type Marks,
  moveReplica,
  type ReplicaState,
  readLocal,
  requireSameCopy,
} from './position.ts';
import type { PublishedCheckpoint } from './recent-checkpoints.ts';
import { strangeMarks } from './strange-marks.ts';

/** Keys that one statement takes out. */
const KEYS_A_STATEMENT = 10_000;
/** A run that was overtaken may leave a walk after so many others have begun. */
const RUNS_WITH_LATE_WALKS = 1_000;
/** From this many rows on the planner is told of them at once. */
const NOTABLE_ROWS = 50_000;

export interface PublishOrder {
  /** A connection of its own: its snapshot is what is published. */
  connection: LedgerConnection;
  client: ReplicaClient;
  /** Puts this ledger in the place of whatever the replica holds of it. */
  replace?: boolean;
  /** Signed heads to keep beside it. */
  checkpoints?: readonly PublishedCheckpoint[];
  /** Ids of workspaces that the configuration leaves to other machines; none when absent. */
  elsewhere?: readonly string[];
  /** Who publishes, for people. */
  by: string;
  nowMs: number;
}

export interface PublishReport {
  ledgerId: string;
  /** Positions in the chain. */
  from: number;
  to: number;
  headDigest: string;
  entries: number;
  /** Rows sent, of all tables. */
  rows: number;
  /** What somebody had changed in the replica and was put right, in words. */
  mended: readonly string[];
  /** Workspaces of this ledger that readers are shown from another one, in words. */
  uncounted: readonly string[];
}

/**
 * Publishes everything after the replica's position: one snapshot of the ledger in one transaction of Postgres, so that
 * whoever reads there sees whole links of the chain. What a crash or a cut leaves undone, the next call does.
 *
 * @throws ReplicaRefusedError when another copy of the ledger has published; ReplicaError.
 */
export async function publishLedger(order: PublishOrder): Promise<PublishReport> {
  const { connection, client } = order;
  const report = await client.transaction(async () => {
    // Locked first, the snapshot taken after it: the replica is never ahead of a snapshot of the same copy.
    const found = await lockReplica(client, ledgerId(connection));
    connection.exec('BEGIN');
    try {
      return await send(order, found);
    } finally {
      connection.exec('COMMIT');
    }
  });
  if (report.rows >= NOTABLE_ROWS) for (const { name } of MIRRORS) await client.query(`ANALYZE ${name}`);
  return report;
}

async function send(order: PublishOrder, held: ReplicaState): Promise<PublishReport> {
  const { connection, client, replace = false } = order;
  const local = readLocal(connection, order.elsewhere);
  const sender = new Sender(order, held.ledgerKey);
  if (!replace) requireSameCopy(connection, local, held);
  // Of another schema: columns of rows that were sent may say something else by now.
  const isOther = replace || held.publishedAt === '' || held.schemaAt !== local.schemaAt;
  const strange = isOther ? [] : await strangeMarks(client, held);
  const isWhole = isOther || strange.length > 0;
  const whole = Object.fromEntries([...wholeTables(connection)].map(({ rows, digest }) => [rows.mirror.name, digest]));
  if (isWhole) await sender.replaceAll();
  else if (await hasNews(order, held, local, whole)) await sendNews(sender, order, held, local, whole);
  else {
    const mended = await sender.keepCheckpoints(local.head.seq, held.position);
    return {
      ...reportOf(held, local),
      rows: sender.rows,
      mended,
      uncounted: await findUncounted(client, held.ledgerKey),
    };
  }
  const mended = [...strange, ...(await sender.keepCheckpoints(local.head.seq, isWhole ? 0 : held.position))];
  await moveReplica(client, connection, held, {
    ...{ local, wholeTables: whole, at: isoTime(order.nowMs), by: order.by },
  });
  return {
    ...reportOf(held, local),
    rows: sender.rows,
    mended,
    uncounted: await findUncounted(client, held.ledgerKey),
  };
}

function reportOf(
  held: ReplicaState,
  { ledgerId, head, marks }: LocalState,
): Omit<PublishReport, 'rows' | 'mended' | 'uncounted'> {
  const entries = marks.entryId - held.marks.entryId;
  return { ledgerId, from: held.position, to: head.seq, headDigest: head.digest, entries };
}

type Digests = Readonly<Record<string, string>>;

async function hasNews(order: PublishOrder, held: ReplicaState, local: LocalState, whole: Digests): Promise<boolean> {
  if (held.epoch !== local.epoch || held.position !== local.head.seq) return true;
  if ((Object.keys(local.marks) as (keyof Marks)[]).some((mark) => held.marks[mark] !== local.marks[mark])) return true;
  if (held.elsewhere.join('\n') !== local.elsewhere.join('\n')) return true;
  if (Object.keys(whole).some((name) => held.wholeTables[name] !== whole[name])) return true;
  return (await changedRunKeys(order, held)).length > 0;
}

async function sendNews(sender: Sender, order: PublishOrder, held: ReplicaState, local: LocalState, whole: Digests) {
  const { connection } = order;
  const { marks } = held;
  for (const name of Object.keys(whole)) if (held.wholeTables[name] !== whole[name]) await sender.renew(allRows(name));
  await sendRuns(sender, order, held, local);
  for (const rows of addedRows(marks)) await sender.add(rows);
  if (local.marks.entryId > marks.entryId) await sender.renewState(marks);
  const { closed, charged } = rewrittenPeriods(connection, marks);
  for (const periodKey of closed) await sender.renewPeriod('closed_usage', periodKey);
  for (const periodKey of charged) {
    await sender.renewPeriod('charges', periodKey);
    await sender.renewPeriod('charge_lines', periodKey);
  }
  for (const { rows, where, keys } of changedRows(connection, marks, held.position !== local.head.seq)) {
    for (let at = 0; at < keys.length; at += KEYS_A_STATEMENT) {
      await sender.take(rows.mirror.name, where, keys.slice(at, at + KEYS_A_STATEMENT));
    }
    if (keys.length > 0) await sender.add(rows);
  }
}

async function sendRuns(sender: Sender, order: PublishOrder, held: ReplicaState, local: LocalState): Promise<void> {
  const { connection } = order;
  const { runKey, keptFromRun } = held.marks;
  const keys = new Set(await changedRunKeys(order, held));
  const add = (isWanted: SQL | undefined): void => {
    const wanted = query(connection).select({ runKey: runs.runKey }).from(runs).where(isWanted);
    for (const run of wanted.all()) keys.add(run.runKey);
  };
  add(gt(runs.runKey, runKey));
  if (local.marks.keptFromRun > keptFromRun) {
    // The retention has been here: what it has left is sent anew.
    const range = [keptFromRun, local.marks.keptFromRun - 1];
    for (const table of ['runs', 'walks']) await sender.take(table, 'run_key BETWEEN $2 AND $3', ...range);
    add(and(gte(runs.runKey, keptFromRun), lt(runs.runKey, local.marks.keptFromRun)));
  }
  const runKeys = [...keys].sort((a, b) => a - b);
  if (runKeys.length === 0) return;
  for (const table of ['runs', 'walks'] as const) {
    await sender.take(table, 'run_key = ANY ($2::bigint[])', runKeys);
    await sender.add(changedRuns(table, runKeys));
  }
}

/** Runs that were published and have changed: they have ended, or left another walk, which one that was overtaken does late. */
async function changedRunKeys(order: PublishOrder, held: ReplicaState): Promise<number[]> {
  return [...(await endedRuns(order, held)), ...(await runsWithOtherWalks(order, held))];
}

async function runsWithOtherWalks({ connection, client }: PublishOrder, held: ReplicaState): Promise<number[]> {
  const { runKey } = held.marks;
  const since = Math.max(runKey - RUNS_WITH_LATE_WALKS, held.marks.keptFromRun - 1);
  const there = await client.query<{ run_key: bigint; walks: bigint }>(
    'SELECT run_key, count(*) AS walks FROM walks WHERE ledger_key = $1 AND run_key > $2 GROUP BY run_key',
    [held.ledgerKey, since],
  );
  const walksThere = new Map(there.map((row) => [Number(row.run_key), Number(row.walks)]));
  const isPublished = and(gt(walks.runKey, since), lte(walks.runKey, runKey));
  const counted = query(connection).select({ runKey: walks.runKey, walks: count() }).from(walks).where(isPublished);
  const here = counted.groupBy(walks.runKey).all();
  return here.filter((row) => walksThere.get(row.runKey) !== row.walks).map((row) => row.runKey);
}

/** Runs that the replica takes for running and that have ended. */
async function endedRuns({ connection, client }: PublishOrder, { ledgerKey }: ReplicaState): Promise<number[]> {
  const running = await client.query<{ run_key: bigint }>(
    "SELECT run_key FROM runs WHERE ledger_key = $1 AND status = 'running'",
    [ledgerKey],
  );
  const statusOf = (key: number) => query(connection).select().from(runs).where(eq(runs.runKey, key)).get()?.status;
  return running.map((row) => Number(row.run_key)).filter((key) => statusOf(key) !== 'running');
}

/** Sends rows of one ledger within a transaction, and counts them. */
class Sender {
  rows = 0;
  readonly #order: PublishOrder;
  readonly #ledgerKey: number;

  constructor(order: PublishOrder, ledgerKey: number) {
    this.#order = order;
    this.#ledgerKey = ledgerKey;
  }

  /** Rows whose keys the replica does not have. */
  async add(rows: Rows): Promise<void> {
    await this.#copy(rows, rows.mirror.name);
  }

  /** All rows of a table. */
  async renew(rows: Rows): Promise<void> {
    await this.take(rows.mirror.name, 'true');
    await this.add(rows);
  }

  async renewPeriod(table: string, periodKey: number): Promise<void> {
    await this.take(table, 'period_key = $2', periodKey);
    await this.add(ofPeriod(table, periodKey));
  }

  /** The state and the charges of the keys that have new entries. */
  async renewState(marks: Marks): Promise<void> {
    const { client } = this.#order;
    const rows = changedState('tenant_usage', marks);
    await client.query('CREATE TEMP TABLE changed_usage (LIKE tenant_usage INCLUDING INDEXES) ON COMMIT DROP');
    await this.#copy(rows, 'pg_temp.changed_usage');
    await client.query('ANALYZE pg_temp.changed_usage');
    const columns = rows.mirror.columns.map(({ name }) => name);
    const values = columns.filter((name) => !rows.mirror.key.includes(name));
    await client.query(
      `INSERT INTO tenant_usage (ledger_key, ${columns.join(', ')})
       SELECT ledger_key, ${columns.join(', ')} FROM pg_temp.changed_usage
       ON CONFLICT (ledger_key, period_key, tenant_key) DO UPDATE
       SET ${values.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    );
    for (const table of ['charges', 'charge_lines']) {
      await client.query(
        `DELETE FROM ${table} c USING pg_temp.changed_usage u
         WHERE c.ledger_key = u.ledger_key AND c.period_key = u.period_key AND c.tenant_key = u.tenant_key`,
      );
      await this.add(changedState(table, marks));
    }
  }

  async take(table: string, where: string, ...values: unknown[]): Promise<void> {
    const { client } = this.#order;
    await client.query(`DELETE FROM ${table} WHERE ledger_key = $1 AND ${where}`, [this.#ledgerKey, ...values]);
  }

  /** Puts all of the ledger in the place of whatever the replica holds of it. */
  async replaceAll(): Promise<void> {
    for (const { name } of MIRRORS) await this.renew(allRows(name));
    await this.take('checkpoints', 'true');
  }

  /** Those of links that are published by now. Returns which were lost or changed of those before `known`, in words. */
  async keepCheckpoints(headSeq: number, known: number): Promise<string[]> {
    const notes = (this.#order.checkpoints ?? []).filter(({ seq }) => seq <= headSeq);
    const kept = await this.#order.client.query<{ seq: bigint; note: string }>(
      'SELECT seq, note FROM checkpoints WHERE ledger_key = $1 AND seq >= $2',
      [this.#ledgerKey, notes[0]?.seq ?? headSeq],
    );
    const there = new Map(kept.map(({ seq, note }) => [Number(seq), note]));
    const mended: string[] = [];
    for (const { seq, note } of notes) {
      if (there.get(seq) === note) continue;
      if (seq < known) mended.push(`the checkpoint of link ${seq} was ${there.has(seq) ? 'another one' : 'missing'}`);
      this.rows += 1;
      await this.#order.client.query(
        `INSERT INTO checkpoints (ledger_key, seq, note) VALUES ($1, $2, $3)
         ON CONFLICT (ledger_key, seq) DO UPDATE SET note = excluded.note`,
        [this.#ledgerKey, seq, note],
      );
    }
    return mended;
  }

  async #copy(rows: Rows, target: string): Promise<void> {
    const { client, connection } = this.#order;
    this.rows += await copyInto(client, target, rows.mirror, copyLines(connection, rows, this.#ledgerKey));
  }
}
