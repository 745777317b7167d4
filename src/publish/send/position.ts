import { isElsewhere } from '../../ledger/journal/ended.ts';
import { linkAt } from '../../ledger/journal/links.ts';
import { GENESIS_DIGEST, headOfChain } from '../../ledger/journal/runs/digest.ts';
import { keptFromRun } from '../../ledger/journal/runs/prune-runs.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { adjustments, periodEvents } from '../../ledger/store/schema/close-tables.ts';
import { asc, eq, inArray, or } from '../../ledger/store/schema/drizzle.ts';
import { ledgerId, replicaEpoch } from '../../ledger/store/schema/identity.ts';
import { schemaVersion } from '../../ledger/store/schema/migrate.ts';
import { rowChanges, runs } from '../../ledger/store/schema/run-tables.ts';
import { usageEntries } from '../../ledger/store/schema/usage-tables.ts';
import { tenants, workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { highest } from '../../ledger/store/subjects.ts';
import type { ReplicaClient } from '../connect.ts';
import { timeOfLink } from '../lag.ts';
import { ReplicaError, ReplicaRefusedError } from '../replica-error.ts';
import { escapeNul, unescapeNul } from './nul.ts';

/** Up to where rows have been published, or are to be. */
export interface Marks {
  tenantKey: number;
  entryId: number;
  runKey: number;
  changeSeq: number;
  eventSeq: number;
  adjustmentId: number;
  keptFromRun: number;
}

/** What the ledger's file says of itself, in the snapshot that is published. */
export interface LocalState {
  ledgerId: string;
  head: { seq: number; digest: string; at: string };
  epoch: number;
  schemaAt: number;
  marks: Marks;
  /** Ids of workspaces in it that others do, in the order of their keys. */
  elsewhere: readonly string[];
}

/** What the replica holds of the ledger. */
export interface ReplicaState {
  ledgerKey: number;
  ledgerId: string;
  position: number;
  headDigest: string;
  headAt: string;
  epoch: number;
  schemaAt: number;
  marks: Marks;
  lastRunId: string;
  lastChange: string;
  wholeTables: Readonly<Record<string, string>>;
  publishedAt: string;
  publishedBy: string;
  elsewhere: readonly string[];
}

interface LedgerRow {
  ledger_key: bigint;
  ledger_id: string;
  position: bigint;
  head_digest: string;
  head_at: string;
  epoch: bigint;
  schema_at: bigint;
  last_tenant_key: bigint;
  last_entry_id: bigint;
  last_run_key: bigint;
  last_change_seq: bigint;
  last_event_seq: bigint;
  last_adjustment_id: bigint;
  kept_from_run: bigint;
  last_run_id: string;
  last_change: string;
  whole_tables: Record<string, string>;
  published_at: string;
  published_by: string;
  elsewhere: string[];
}

/**
 * `elsewhere`: ids of workspaces that others do, whether this ledger holds them or not; those that it was ended for
 * `--elsewhere` are others' as well.
 */
export function readLocal(connection: LedgerConnection, elsewhere: readonly string[] = []): LocalState {
  const db = query(connection);
  const head = headOfChain(connection);
  return {
    ledgerId: ledgerId(connection),
    head: { ...head, at: timeOfLink(connection, head.seq) ?? '' },
    epoch: replicaEpoch(connection),
    schemaAt: schemaVersion(connection),
    elsewhere: db
      .select()
      .from(workspaces)
      .where(or(inArray(workspaces.workspaceId, [...elsewhere]), isElsewhere))
      .orderBy(asc(workspaces.workspaceKey))
      .all()
      .map(({ workspaceId }) => workspaceId),
    marks: {
      tenantKey: highest(connection, tenants.tenantKey),
      entryId: highest(connection, usageEntries.entryId),
      runKey: highest(connection, runs.runKey),
      changeSeq: highest(connection, rowChanges.changeSeq),
      eventSeq: highest(connection, periodEvents.eventSeq),
      adjustmentId: highest(connection, adjustments.adjustmentId),
      keptFromRun: keptFromRun(connection),
    },
  };
}

/** Null when the replica knows nothing of the ledger. */
export async function findReplica(client: ReplicaClient, id: string): Promise<ReplicaState | null> {
  const [row] = await client.query<LedgerRow>('SELECT * FROM ledgers WHERE ledger_id = $1', [id]);
  return row === undefined ? null : toState(row);
}

/** Makes the ledger known, and keeps every other publisher of it out until the transaction ends. */
export async function lockReplica(client: ReplicaClient, id: string): Promise<ReplicaState> {
  // A row that was lost gets the key that its ledger's rows still bear.
  await client.query(
    `INSERT INTO ledgers (ledger_key, ledger_id, position, head_digest, epoch, schema_at, last_tenant_key, last_entry_id,
       last_run_key, last_change_seq, last_event_seq, last_adjustment_id, kept_from_run, last_run_id, last_change, whole_tables,
       head_at, published_at, published_by)
     OVERRIDING SYSTEM VALUE
     SELECT coalesce((SELECT m.ledger_key FROM ledger_meta m WHERE m.name = 'ledger_id' AND m.value = $1
         AND m.ledger_key <> ALL (SELECT ledger_key FROM ledgers)), nextval(pg_get_serial_sequence('ledgers', 'ledger_key'))),
       $1, 0, $2, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '{}', '', '', ''
     WHERE NOT EXISTS (SELECT 1 FROM ledgers WHERE ledger_id = $1)
     ON CONFLICT (ledger_id) DO NOTHING`,
    [id, GENESIS_DIGEST],
  );
  const [row] = await client.query<LedgerRow>('SELECT * FROM ledgers WHERE ledger_id = $1 FOR UPDATE', [id]);
  if (row === undefined)
    throw new ReplicaError('replica_failed', 'the replica has lost the ledger', { retryable: true });
  return toState(row);
}

/**
 * Refuses a copy of the ledger that does not continue what the replica holds: its chain must have the replica's head, and
 * beyond the chain its last run and its last row change.
 *
 * @throws ReplicaRefusedError naming both heads.
 */
export function requireSameCopy(connection: LedgerConnection, local: LocalState, held: ReplicaState): void {
  const ours = `this ledger ends at link ${local.head.seq} (${local.head.digest})`;
  const theirs = `the replica holds link ${held.position} (${held.headDigest})`;
  if (held.epoch > local.epoch) {
    throw new ReplicaRefusedError(
      `another copy of this ledger has taken its place since (${held.epoch} against ${local.epoch}): ${theirs}, ${ours}`,
    );
  }
  if (held.position > 0 && digestAt(connection, held.position) !== held.headDigest) {
    throw new ReplicaRefusedError(`another copy of this ledger has published: ${theirs}, ${ours}`);
  }
  const { runKey, changeSeq } = held.marks;
  const run = runIdAt(connection, runKey);
  // The retention lets go of old runs that published nothing.
  const isPruned = run === undefined && runKey < local.marks.keptFromRun;
  if (runKey > 0 && !isPruned && held.lastRunId !== run) {
    throw new ReplicaRefusedError(
      `another copy of this ledger has published run ${held.lastRunId}: ${theirs}, ${ours}`,
    );
  }
  if (changeSeq > 0 && held.lastChange !== changeAt(connection, changeSeq)) {
    throw new ReplicaRefusedError(
      `another copy of this ledger has published row change ${changeSeq}: ${theirs}, ${ours}`,
    );
  }
}

/** Moves the replica from what it was found with to what has been sent. */
export async function moveReplica(
  client: ReplicaClient,
  connection: LedgerConnection,
  found: ReplicaState,
  reached: { local: LocalState; wholeTables: Readonly<Record<string, string>>; at: string; by: string },
): Promise<void> {
  const { local, wholeTables, at, by } = reached;
  const { head, marks } = local;
  const moved = await client.query(
    `UPDATE ledgers SET position = $5, head_digest = $6, epoch = $7, schema_at = $8, last_tenant_key = $9, last_entry_id = $10,
       last_run_key = $11, last_change_seq = $12, last_event_seq = $13, last_adjustment_id = $14, kept_from_run = $15,
       last_run_id = $16, last_change = $17, whole_tables = $18, head_at = $19, published_at = $20, published_by = $21, elsewhere = $22
     WHERE ledger_key = $1 AND position = $2 AND head_digest = $3 AND epoch = $4 RETURNING 1`,
    [
      ...[found.ledgerKey, found.position, found.headDigest, found.epoch, head.seq, head.digest, local.epoch],
      ...[local.schemaAt, marks.tenantKey, marks.entryId, marks.runKey, marks.changeSeq, marks.eventSeq],
      ...[marks.adjustmentId, marks.keptFromRun, runIdAt(connection, marks.runKey) ?? ''],
      ...[changeAt(connection, marks.changeSeq) ?? '', JSON.stringify(wholeTables), head.at, at, by],
      local.elsewhere.map(escapeNul),
    ],
  );
  if (moved.length === 0)
    throw new ReplicaRefusedError(`another publisher has moved the replica on from link ${found.position}`);
}

/** The digest of a link of the chain. */
export function digestAt(connection: LedgerConnection, seq: number): string | undefined {
  return linkAt(connection, seq)?.digest ?? undefined;
}

export function runIdAt(connection: LedgerConnection, runKey: number): string | undefined {
  return query(connection).select().from(runs).where(eq(runs.runKey, runKey)).get()?.runId;
}

/** A row change in words that no other one has. */
export function changeAt(connection: LedgerConnection, changeSeq: number): string | undefined {
  const change = query(connection).select().from(rowChanges).where(eq(rowChanges.changeSeq, changeSeq)).get();
  if (change === undefined) return undefined;
  const { tableName, rowKey, rowDigest } = change;
  return `${tableName} ${rowKey} ${rowDigest?.toString('hex') ?? ''}`;
}

function toState(row: LedgerRow): ReplicaState {
  return {
    ledgerKey: Number(row.ledger_key),
    ledgerId: row.ledger_id,
    position: Number(row.position),
    headDigest: row.head_digest,
    headAt: row.head_at,
    epoch: Number(row.epoch),
    schemaAt: Number(row.schema_at),
    marks: {
      tenantKey: Number(row.last_tenant_key),
      entryId: Number(row.last_entry_id),
      runKey: Number(row.last_run_key),
      changeSeq: Number(row.last_change_seq),
      eventSeq: Number(row.last_event_seq),
      adjustmentId: Number(row.last_adjustment_id),
      keptFromRun: Number(row.kept_from_run),
    },
    lastRunId: row.last_run_id,
    lastChange: row.last_change,
    wholeTables: row.whole_tables,
    publishedAt: row.published_at,
    publishedBy: row.published_by,
    elsewhere: row.elsewhere.map(unescapeNul),
  };
}
