import { isoTime } from '../../core/clock.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { query } from '../store/schema/drizzle.ts';
import { acts } from '../store/schema/workspace-tables.ts';
import { changesToCover, createLinkDigests, headOfChain } from './runs/digest.ts';

export interface ActRequest {
  workspaceId: string;
  workspaceKey: number;
  action: (typeof acts.$inferSelect)['action'];
  /** The person who acts; stored unchanged. */
  by: string;
  note: string;
  nowMs: number;
}

export interface ActLink {
  seq: number;
  digest: string;
}

/**
 * Appends a person's act as the next link of the chain. The link covers the row changes of the caller's transaction.
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
