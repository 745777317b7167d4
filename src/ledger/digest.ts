import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';

type Connection = Database.Database;

/** What stands before the first run of the chain. */
export const GENESIS_DIGEST = '0'.repeat(64);

/** Entries that are joined into one text by SQLite at a time: fewer crossings into JavaScript, bounded memory. */
const ENTRIES_A_CHUNK = 4096;

/** The part of a run that its digest covers beside its entries. */
export interface DigestedRun {
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
 * entry_id: `[entry_id, tenant_id, period, kind, credits_delta, requests_delta, credits_after, requests_after]`, as
 * SQLite's json_array writes them.
 */
export function digestOfRun(connection: Connection, run: DigestedRun): string {
  const hash = createHash('sha256');
  const header = connection
    .prepare('SELECT json_array(?, CAST(? AS INTEGER), ?, ?, ?, CAST(? AS INTEGER))')
    .pluck()
    .get(run.previousDigest, run.appliedSeq, run.runId, run.workspaceId, run.finishedAt, run.entries);
  hash.update(`${String(header)}\n`);
  if (run.firstEntryId === null) return hash.digest('hex');

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
  const end = run.firstEntryId + run.entries;
  for (let at = run.firstEntryId; at < end; at += ENTRIES_A_CHUNK) {
    const text = lines.get(at, Math.min(end, at + ENTRIES_A_CHUNK)) as string | null;
    hash.update(text ?? '');
  }
  return hash.digest('hex');
}

/** The digest that the next run continues: that of the last published run. */
export function headOfChain(connection: Connection): { appliedSeq: number; digest: string } {
  const head = connection
    .prepare(
      'SELECT applied_seq AS appliedSeq, digest FROM runs WHERE applied_seq IS NOT NULL ORDER BY applied_seq DESC LIMIT 1',
    )
    .get() as { appliedSeq: number; digest: string } | undefined;
  return head ?? { appliedSeq: 0, digest: GENESIS_DIGEST };
}
