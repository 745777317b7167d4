import { isoTime } from '../../core/clock.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { and, desc, eq, inArray, query } from '../store/schema/drizzle.ts';
import { acts, workspaces } from '../store/schema/workspace-tables.ts';
import { changesToCover, createLinkDigests, headOfChain } from './runs/digest.ts';

export interface ActRequest {
  workspaceId: string;
  workspaceKey: number;
  action: (typeof acts.$inferSelect)['action'];
  /** The name of the person who acts, stored unchanged. */
  by: string;
  note: string;
  nowMs: number;
}

export interface ActLink {
  seq: number;
  digest: string;
}

/**
 * Appends what a person did (an act) to the chain as its next link. The link's digest covers the row changes of the
 * caller's transaction.
 */
export function appendAct(connection: LedgerDb, request: ActRequest): ActLink {
  const { workspaceId, workspaceKey, action, by, note, nowMs } = request;
  const head = headOfChain(connection);
  const { changesAfter, lastChangeSeq } = changesToCover(connection);
  const link = {
    actSeq: head.seq + 1,
    action,
    at: isoTime(nowMs),
    actor: by,
    note,
    previousDigest: head.digest,
    lastChangeSeq,
  };
  const digest = createLinkDigests(connection).ofAct({ ...link, workspaceId, changesAfter });
  query(connection)
    .insert(acts)
    .values({ ...link, workspaceKey, digest })
    .run();
  return { seq: link.actSeq, digest };
}

/** Returns the last act that retired or resumed a workspace; null if there is none. */
export function lastRetirementAct(connection: LedgerDb, workspaceId: string): typeof acts.$inferSelect | null {
  const found = query(connection)
    .select({ act: acts })
    .from(acts)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, acts.workspaceKey))
    .where(and(eq(workspaces.workspaceId, workspaceId), inArray(acts.action, ['end', 'elsewhere', 'resume'])))
    .orderBy(desc(acts.actSeq))
    .limit(1)
    .get();
  return found?.act ?? null;
}
