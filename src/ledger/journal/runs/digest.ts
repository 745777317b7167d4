import { createHash, type Hash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { preparedSql } from '../../store/schema/drizzle.ts';
import { entryKindSql } from '../../store/schema/keys.ts';
import type { acts } from '../../store/schema/workspace-tables.ts';
import { type PeriodEventDigestContent, prepareEventLine } from '../close/event-line.ts';

/** The value that the first link of the chain has as the digest of its previous link. */
export const GENESIS_DIGEST = '0'.repeat(64);

/**
 * Number of entries that SQLite joins into one text, to save calls into JavaScript. Such a text has about 50 kB and is
 * freed soon; texts over 128 kB would stay in memory until a full garbage collection.
 */
const ENTRIES_PER_CHUNK = 512;

/** The fields of a run that its digest covers, in addition to the run's entries, adjustments and row changes. */
export interface RunDigestContent {
  runKey: number;
  previousDigest: string;
  appliedSeq: number;
  runId: string;
  workspaceId: string;
  finishedAt: string;
  firstEntryId: number | null;
  entries: number;
  kind: string;
  slot: string | null;
  fromPeriod: string | null;
  toPeriod: string | null;
  fencingToken: number;
  /** The digest covers the row changes after this number, up to `lastChangeSeq`. */
  changesAfter: number;
  lastChangeSeq: number;
}

/** The fields of an act that its digest covers, in addition to its row changes. */
export interface ActDigestContent {
  previousDigest: string;
  actSeq: number;
  action: (typeof acts.$inferSelect)['action'];
  workspaceId: string;
  at: string;
  actor: string;
  note: string;
  changesAfter: number;
  lastChangeSeq: number;
}

/**
 * Returns functions that compute digests over one connection, with statements prepared once for a chain of any length.
 *
 * The digest of an applied run is the SHA-256, hex, of lines of JSON that each end with a line feed, all as SQLite's
 * json_array writes them. The first line is `[previous_digest, applied_seq, run_id, workspace_id, finished_at, entries,
 * kind, slot, from_period, to_period, fencing_token, last_change_seq]`. One line per entry follows by entry_id:
 * `[entry_id, tenant_id, period, kind, credits_delta, requests_delta, credits_after, requests_after]`; then one per
 * adjustment by adjustment_id: `["adjustment", adjustment_id, tenant_id, corrects_period, booked_period, credits_delta,
 * requests_delta, entry_id]`; then one per row change by change_seq: `["change", change_seq, table_name, row_key,
 * row_digest]`.
 *
 * The digest of a close or reopen covers the line made by `prepareEventLine`, and one line of the same form per
 * adjustment that it booked. The digest of an act, such as retiring a workspace, covers `[previous_digest, act_seq,
 * action, workspace_id, at, actor, note, last_change_seq]` and its row changes.
 */
export function createLinkDigests(connection: LedgerDb) {
  const integer = 'CAST(? AS INTEGER)';
  const line = (values: string[]) => connection.prepare(`SELECT json_array(${values.join(', ')}) || char(10)`).pluck();
  const runLine = line(['?', integer, '?', '?', '?', integer, ...'????', integer, integer]);
  const actLine = line(['?', integer, ...'?????', integer]);
  const entryLines = prepareEntryLines(connection);
  const ofRunAdjustments = prepareAdjustmentLines(connection, 'run_key');
  const ofEventAdjustments = prepareAdjustmentLines(connection, 'event_seq');
  const changeLines = prepareChangeLines(connection);
  const addAdjustments = (hash: Hash, { any, lines }: AdjustmentLines, key: number): void => {
    // This is checked first, because few links have adjustments, and the check is ten times as fast as the join.
    if (any.get(key) !== undefined) for (const text of lines.iterate(key)) hash.update(text as string);
  };
  const addChanges = (hash: Hash, { changesAfter, lastChangeSeq }: { changesAfter: number; lastChangeSeq: number }) => {
    if (lastChangeSeq <= changesAfter) return;
    for (const text of changeLines.iterate(changesAfter, lastChangeSeq)) hash.update(text as string);
  };
  const lineOfEvent = prepareEventLine(connection);
  return {
    ofRun(run: RunDigestContent): string {
      const { entries, firstEntryId, lastChangeSeq } = run;
      const start = [run.previousDigest, run.appliedSeq, run.runId, run.workspaceId, run.finishedAt, entries];
      const rest = [run.kind, run.slot, run.fromPeriod, run.toPeriod, run.fencingToken, lastChangeSeq];
      const hash = createHash('sha256').update(String(runLine.get(...start, ...rest)));
      const end = (firstEntryId ?? 0) + entries;
      for (let at = firstEntryId ?? end; at < end; at += ENTRIES_PER_CHUNK) {
        hash.update((entryLines.get(at, Math.min(end, at + ENTRIES_PER_CHUNK)) as string | null) ?? '');
      }
      addAdjustments(hash, ofRunAdjustments, run.runKey);
      addChanges(hash, run);
      return hash.digest('hex');
    },
    ofEvent(event: PeriodEventDigestContent): string {
      const hash = createHash('sha256').update(`${lineOfEvent(event).line}\n`);
      addAdjustments(hash, ofEventAdjustments, event.eventSeq);
      return hash.digest('hex');
    },
    ofAct(act: ActDigestContent): string {
      const { previousDigest, actSeq, action, workspaceId, at, actor, note } = act;
      const fields = [previousDigest, actSeq, action, workspaceId, at, actor, note];
      const hash = createHash('sha256').update(String(actLine.get(...fields, act.lastChangeSeq)));
      addChanges(hash, act);
      return hash.digest('hex');
    },
    lineOfEvent,
  };
}

export function digestOfRun(connection: LedgerDb, run: RunDigestContent): string {
  return createLinkDigests(connection).ofRun(run);
}

export function digestOfEvent(connection: LedgerDb, event: PeriodEventDigestContent): string {
  return createLinkDigests(connection).ofEvent(event);
}

/**
 * Prepares a query that returns the lines of the entries with ids from a first one up to, but not including, a last
 * one. The query returns null when there are no such entries.
 */
function prepareEntryLines(connection: LedgerDb): Database.Statement {
  return connection
    .prepare(
      // The line feed is a separator: if it were appended to each line, SQLite would copy every line once more.
      `SELECT group_concat(line, char(10)) || char(10) FROM (
         SELECT json_array(e.entry_id, t.tenant_id, p.period, ${entryKindSql('e.kind')},
           e.credits_delta, e.requests_delta, e.credits_after, e.requests_after) AS line
         FROM usage_entries e
         JOIN tenants t ON t.tenant_key = e.tenant_key
         JOIN periods p ON p.period_key = e.period_key
         WHERE e.entry_id >= ? AND e.entry_id < ?
         ORDER BY e.entry_id)`,
    )
    .pluck();
}

interface AdjustmentLines {
  any: Database.Statement;
  lines: Database.Statement;
}

function prepareAdjustmentLines(connection: LedgerDb, owner: 'run_key' | 'event_seq'): AdjustmentLines {
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
  return { any: connection.prepare(`SELECT 1 FROM adjustments WHERE ${owner} = ? LIMIT 1`), lines };
}

function prepareChangeLines(connection: LedgerDb): Database.Statement {
  return connection
    .prepare(
      `SELECT json_array('change', change_seq, table_name, row_key, lower(hex(row_digest))) || char(10)
       FROM row_changes WHERE change_seq > ? AND change_seq <= ? ORDER BY change_seq`,
    )
    .pluck();
}

/**
 * Returns the range of row changes that the digest of the next run or act covers: from the first change that no digest
 * covers yet, up to the newest.
 */
export function changesToCover(connection: LedgerDb): { changesAfter: number; lastChangeSeq: number } {
  return connection
    .prepare(
      `SELECT max(coalesce((SELECT last_change_seq FROM runs WHERE applied_seq IS NOT NULL
           ORDER BY applied_seq DESC LIMIT 1), 0),
         coalesce((SELECT max(last_change_seq) FROM acts), 0)) AS changesAfter,
         (SELECT coalesce(max(change_seq), 0) FROM row_changes) AS lastChangeSeq`,
    )
    .get() as { changesAfter: number; lastChangeSeq: number };
}

const selectHead = preparedSql(
  `SELECT seq, digest FROM (
     SELECT * FROM (SELECT applied_seq AS seq, digest FROM runs WHERE applied_seq IS NOT NULL
       ORDER BY applied_seq DESC LIMIT 1)
     UNION ALL
     SELECT * FROM (SELECT event_seq, digest FROM period_events ORDER BY event_seq DESC LIMIT 1)
     UNION ALL
     SELECT * FROM (SELECT act_seq, digest FROM acts ORDER BY act_seq DESC LIMIT 1))
   ORDER BY seq DESC LIMIT 1`,
);

/**
 * Returns the last link of the chain, which is a run, close, reopen or act. For an empty chain, position 0 and
 * GENESIS_DIGEST.
 */
export function headOfChain(connection: LedgerDb): { seq: number; digest: string } {
  const head = selectHead(connection).get() as { seq: number; digest: string } | undefined;
  return head ?? { seq: 0, digest: GENESIS_DIGEST };
}
