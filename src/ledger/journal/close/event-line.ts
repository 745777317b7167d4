import { createHash } from 'node:crypto';
import { CloseSalt } from '../../../billing/proof/salted-tree.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { closeCommitments } from '../../store/schema/billing-tables.ts';
import { eq, getTableColumns, prepared, sql } from '../../store/schema/drizzle.ts';

/** The fields of a close or reopen that its digest covers, in addition to the adjustments that a reopen books. */
export interface PeriodEventDigestContent {
  previousDigest: string;
  eventSeq: number;
  action: 'close' | 'reopen';
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
  systemUser: string;
}

export interface EventLine {
  line: string;
  /** The part of a close that its digest line contains only as a hash; null for a reopen. */
  internal: { line: string; nonce: string } | null;
}

const commitmentOf = prepared((db) => {
  const { eventSeq, ...columns } = getTableColumns(closeCommitments);
  return db
    .select(columns)
    .from(closeCommitments)
    .where(eq(eventSeq, sql.placeholder('eventSeq')));
});

/**
 * Returns a function that builds the digest line of a close or reopen. The line of a close may be shown to any of its
 * tenants: `[previous_digest, event_seq, action, workspace_id, period, at, SHA-256(nonce || internal), root]`, followed
 * by the SHA-256 of its letterhead if it has one. `internal` is `[actor, note, forced, overridden, tenants,
 * credits_used, request_count, last_entry_id, system_user, leaves]`, with the number format and the last assigned
 * number before the leaves. A reopen has one line, `[previous_digest, event_seq, action, workspace_id, period, at,
 * actor, note, forced, overridden, tenants, credits_used, request_count, last_entry_id, system_user]`.
 */
export function prepareEventLine(connection: LedgerDb): (event: PeriodEventDigestContent) => EventLine {
  const array = (places: string[]) => connection.prepare(`SELECT json_array(${places.join(', ')})`).pluck();
  const integer = 'CAST(? AS INTEGER)';
  const placeLine = array(['?', integer, ...'????']);
  const contentLine = array(['?', '?', integer, '?', integer, integer, integer, integer, '?']);
  const commitment = commitmentOf(connection);
  return (event) => {
    const { previousDigest, eventSeq, action, workspaceId, period, at } = event;
    const place = String(placeLine.get(previousDigest, eventSeq, action, workspaceId, period, at));
    const content = String(
      contentLine.get(
        event.actor,
        event.note,
        event.forced,
        event.overridden,
        event.tenants,
        event.creditsUsed,
        event.requestCount,
        event.lastEntryId,
        event.systemUser,
      ),
    );
    const committed = commitment.get({ eventSeq });
    if (committed === undefined) return { line: concatArrays(place, content), internal: null };
    const { numberForm, lastNumber, letterhead, root, leaves } = committed;
    const numbers = numberForm === null ? [] : [JSON.stringify([numberForm, lastNumber])];
    const inner = concatArrays(content, ...numbers, `[${leaves}]`);
    const own = JSON.stringify(letterhead === null ? [root] : [root, letterhead]);
    const { nonce } = new CloseSalt(committed.salt);
    const hash = createHash('sha256').update(nonce).update(inner).digest('hex');
    return {
      line: concatArrays(place, JSON.stringify([hash]), own),
      internal: { line: inner, nonce: nonce.toString('hex') },
    };
  };
}

/** Concatenates JSON arrays, as text, into one array. */
function concatArrays(...arrays: string[]): string {
  return `[${arrays.map((array) => array.slice(1, -1)).join(',')}]`;
}
