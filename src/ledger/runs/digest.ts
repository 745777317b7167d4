import { createHash, type Hash } from 'node:crypto';
import type Database from 'better-sqlite3';

type Connection = Database.Database;

/** What stands before the first run of the chain. */
export const GENESIS_DIGEST = '0'.repeat(64);

/**
 * Entries that SQLite joins into one text at a time: fewer crossings into JavaScript. Their some 50 kB are soon collected;
 * texts beyond 128 kB would pile up until a full collection.
 */
const ENTRIES_A_CHUNK = 512;

/** The part of a run that its digest covers beside its entries and adjustments. */
export interface DigestedRun {
  runKey: number;
  previousDigest: string;
  appliedSeq: number;
  runId: string;
  workspaceId: string;
  finishedAt: string;
  firstEntryId: number | null;
  entries: number;
}

/**
 * The digest of a published run: SHA-256, hex, over lines of JSON that each end with a line feed. The first line is
 * `[previous_digest, applied_seq, run_id, workspace_id, finished_at, entries]`; then comes one line an entry by
 * entry_id: `[entry_id, tenant_id, period, kind, credits_delta, requests_delta, credits_after, requests_after]`; then one
 * an adjustment by adjustment_id, see `hashAdjustments`; all as SQLite's json_array writes them.
 */
export function digestOfRun(connection: Connection, run: DigestedRun): string {
  const hash = createHash('sha256');
  const header = connection
    .prepare('SELECT json_array(?, CAST(? AS INTEGER), ?, ?, ?, CAST(? AS INTEGER))')
    .pluck()
    .get(run.previousDigest, run.appliedSeq, run.runId, run.workspaceId, run.finishedAt, run.entries);
  hash.update(`${String(header)}\n`);
  if (run.firstEntryId !== null) hashEntries(connection, hash, run.firstEntryId, run.firstEntryId + run.entries);
  hashAdjustments(connection, hash, 'run_key', run.runKey);
  return hash.digest('hex');
}

/** What the digest of a close or reopen covers beside the adjustments that a reopen takes back. */
export interface DigestedEvent {
  previousDigest: string;
  eventSeq: number;
  action: string;
  workspaceId: string;
  period: string;
  at: string;
  actor: string;
  note: string;
  forced: number;
  overridden: string;
  tenants: bigint;
  creditsUsed: bigint;
  requestCount: bigint;
  lastEntryId: number;
}

/**
 * The digest of a close or reopen: SHA-256, hex, over one line `[previous_digest, event_seq, action, workspace_id,
 * period, at, actor, note, forced, overridden, tenants, credits_used, request_count, last_entry_id]` and one line an
 * adjustment that it booked, in the same form as for a run.
 */
export function digestOfEvent(connection: Connection, event: DigestedEvent): string {
  const integer = 'CAST(? AS INTEGER)';
  const line = connection
    .prepare(
      `SELECT json_array(?, ${integer}, ?, ?, ?, ?, ?, ?, ${integer}, ?, ${integer}, ${integer}, ${integer}, ${integer})`,
    )
    .pluck()
    .get(
      event.previousDigest,
      event.eventSeq,
      event.action,
      event.workspaceId,
      event.period,
      event.at,
      event.actor,
      event.note,
      event.forced,
      event.overridden,
      event.tenants,
      event.creditsUsed,
      event.requestCount,
      event.lastEntryId,
    );
  const hash = createHash('sha256').update(`${String(line)}\n`);
  hashAdjustments(connection, hash, 'event_seq', event.eventSeq);
  return hash.digest('hex');
}

/** Entries with ids from `start` up to, not including, `end`. */
function hashEntries(connection: Connection, hash: Hash, start: number, end: number): void {
  const lines = connection
    .prepare(
      `SELECT group_concat(line, '') FROM (
         SELECT json_array(e.entry_id, t.tenant_id, p.period,
           CASE e.kind WHEN 1 THEN 'opened' WHEN 2 THEN 'increased' WHEN 3 THEN 'decreased' WHEN 4 THEN 'withdrawn'
             WHEN 5 THEN 'restored' END,
           e.credits_delta, e.requests_delta, e.credits_after, e.requests_after) || char(10) AS line
         FROM usage_entries e
         JOIN tenants t ON t.tenant_key = e.tenant_key
         JOIN periods p ON p.period_key = e.period_key
         WHERE e.entry_id >= ? AND e.entry_id < ?
         ORDER BY e.entry_id)`,
    )
    .pluck();
  for (let at = start; at < end; at += ENTRIES_A_CHUNK) {
    const text = lines.get(at, Math.min(end, at + ENTRIES_A_CHUNK)) as string | null;
    hash.update(text ?? '');
  }
}

/** `["adjustment", adjustment_id, tenant_id, corrects_period, booked_period, credits_delta, requests_delta, entry_id]` */
function hashAdjustments(connection: Connection, hash: Hash, owner: 'run_key' | 'event_seq', key: number): void {
  const lines = connection
    .prepare(
      `SELECT json_array('adjustment', a.adjustment_id, t.tenant_id, p.period, b.period, a.credits_delta,
         a.requests_delta, a.entry_id) || char(10)
       FROM adjustments a
       JOIN tenants t ON t.tenant_key = a.tenant_key
       JOIN periods p ON p.period_key = a.corrects_period_key
       JOIN periods b ON b.period_key = a.booked_period_key
       WHERE a.${owner} = ? ORDER BY a.adjustment_id`,
    )
    .pluck();
  for (const line of lines.iterate(key)) hash.update(line as string);
}

/** The end of the chain: the last run, close or reopen, which the next one continues. */
export function headOfChain(connection: Connection): { seq: number; digest: string } {
  const head = connection
    .prepare(
      `SELECT seq, digest FROM (
         SELECT * FROM (SELECT applied_seq AS seq, digest FROM runs WHERE applied_seq IS NOT NULL
           ORDER BY applied_seq DESC LIMIT 1)
         UNION ALL
         SELECT * FROM (SELECT event_seq, digest FROM period_events ORDER BY event_seq DESC LIMIT 1))
       ORDER BY seq DESC LIMIT 1`,
    )
    .get() as { seq: number; digest: string } | undefined;
  return head ?? { seq: 0, digest: GENESIS_DIGEST };
}
