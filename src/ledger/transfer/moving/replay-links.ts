import { insertEvent } from '../../journal/close/close-period.ts';
import type { DigestedEvent } from '../../journal/close/event-line.ts';
import { changesToCover, createLinkDigests, type DigestedRun, headOfChain } from '../../journal/runs/digest.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { prepared } from '../../store/query.ts';
import { eq, sql } from '../../store/schema/drizzle.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { runs } from '../../store/schema/run-tables.ts';
import type { MovedWorkspace } from './moved-workspace.ts';

interface MovedLink {
  /** Its position there and here. */
  old: number;
  seq: number;
  type: 'run' | 'event';
}

/**
 * Appends the workspace's runs, closes and reopens to this ledger's chain, in their order, over the rows that `copyHistory` has
 * brought: each link has a digest of its own here, which covers what the link was where it was made.
 */
export function replayLinks(connection: LedgerConnection, { ledgerId }: MovedWorkspace, workspaceKey: number): void {
  const links = connection
    .prepare(
      `SELECT k.old, k.new AS seq, iif(r.run_key IS NULL, 'event', 'run') AS type
       FROM temp.moving_links k LEFT JOIN origin.runs r ON r.applied_seq = k.old ORDER BY k.old`,
    )
    .all() as MovedLink[];
  const noteOrigin = connection.prepare(
    // A link that had come to that ledger from another one goes on naming the one that made it.
    `INSERT INTO moved_links (seq, ledger_id, origin_seq, origin_digest, origin_first_entry_id, card_set)
     SELECT @seq, coalesce(m.ledger_id, @ledgerId), coalesce(m.origin_seq, l.seq), coalesce(m.origin_digest, l.digest),
       iif(m.seq IS NULL, l.first_entry_id, m.origin_first_entry_id),
       (SELECT new FROM temp.moving_card_sets WHERE old = coalesce(m.card_set, 0))
     FROM (SELECT applied_seq AS seq, digest, first_entry_id FROM origin.runs WHERE applied_seq = @old
       UNION ALL SELECT event_seq, digest, NULL FROM origin.period_events WHERE event_seq = @old) l
     LEFT JOIN origin.moved_links m ON m.seq = l.seq`,
  );
  const digests = createLinkDigests(connection);
  const appendRun = prepareAppendRun(connection);
  const appendEvent = prepareAppendEvent(connection, workspaceKey);
  let { digest } = headOfChain(connection);
  const { lastChangeSeq, ...covered } = changesToCover(connection);
  let { changesAfter } = covered;
  for (const link of links) {
    noteOrigin.run({ seq: link.seq, old: link.old, ledgerId });
    if (link.type === 'run') {
      digest = appendRun(digests.ofRun, link, digest, { changesAfter, lastChangeSeq });
      changesAfter = lastChangeSeq;
    } else {
      digest = appendEvent(digests.ofEvent, link, digest);
    }
  }
}

const { placeholder } = sql;

const writeLink = prepared((db) =>
  db
    .update(runs)
    .set({
      appliedSeq: sql`${placeholder('appliedSeq')}`,
      previousDigest: sql`${placeholder('previousDigest')}`,
      digest: sql`${placeholder('digest')}`,
      lastChangeSeq: sql`${placeholder('lastChangeSeq')}`,
    })
    .where(eq(runs.runKey, placeholder('runKey'))),
);

type Covered = Pick<DigestedRun, 'changesAfter'> & { lastChangeSeq: number };

function prepareAppendRun(connection: LedgerConnection) {
  const read = connection.prepare(
    `SELECT r.run_key AS runKey, r.run_id AS runId, w.workspace_id AS workspaceId, r.finished_at AS finishedAt,
       r.first_entry_id AS firstEntryId, r.entries, r.kind, r.slot, r.from_period AS fromPeriod, r.to_period AS toPeriod,
       r.fencing_token AS fencingToken
     FROM origin.runs o JOIN temp.moving_runs k ON k.old = o.run_key JOIN main.runs r ON r.run_key = k.new
     JOIN main.workspaces w ON w.workspace_key = r.workspace_key WHERE o.applied_seq = ?`,
  );
  return (
    digestOf: (run: DigestedRun) => string,
    link: MovedLink,
    previousDigest: string,
    covered: Covered,
  ): string => {
    const run = read.get(link.old) as Omit<DigestedRun, 'previousDigest' | 'appliedSeq' | keyof Covered>;
    const digest = digestOf({ ...run, ...covered, previousDigest, appliedSeq: link.seq });
    const { lastChangeSeq } = covered;
    writeLink(connection).run({ appliedSeq: link.seq, previousDigest, digest, lastChangeSeq, runKey: run.runKey });
    return digest;
  };
}

function prepareAppendEvent(connection: LedgerConnection, workspaceKey: number) {
  const read = connection
    .prepare(
      `SELECT e.action, w.workspace_id AS workspaceId, p.period, e.at, e.actor, e.note, e.forced, e.overridden, e.tenants,
         e.credits_used AS creditsUsed, e.request_count AS requestCount, e.system_user AS systemUser,
         coalesce((SELECT max(k.new) FROM temp.moving_entries k WHERE k.old <= e.last_entry_id),
           (SELECT min(new) - 1 FROM temp.moving_entries), (SELECT coalesce(max(entry_id), 0) FROM main.usage_entries))
           AS lastEntryId
       FROM origin.period_events e JOIN origin.workspaces w USING (workspace_key) JOIN origin.periods p USING (period_key)
       WHERE e.event_seq = ?`,
    )
    .safeIntegers();
  return (digestOf: (event: DigestedEvent) => string, link: MovedLink, previousDigest: string): string => {
    const stored = read.get(link.old) as Omit<DigestedEvent, 'forced' | 'lastEntryId'> & Record<string, bigint>;
    const event: DigestedEvent = {
      ...stored,
      ...{ previousDigest, eventSeq: link.seq, forced: Number(stored.forced), lastEntryId: Number(stored.lastEntryId) },
    };
    const digest = digestOf(event);
    insertEvent(connection, event, { workspaceKey, periodKey: periodKeyOf(workspaceKey, event.period), digest });
    return digest;
  };
}
