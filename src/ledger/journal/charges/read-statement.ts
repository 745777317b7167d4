import type { BilledPeriod, BilledTenant } from '../../../billing/statement/billed.ts';
import { type CloseProof, type StatementDocument, statementDocument } from '../../../billing/statement/document.ts';
import { encodePeriod, encodeTenant } from '../../../billing/statement/leaf.ts';
import { elapsedFraction, type Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { createLinkDigests, type DigestedEvent } from '../runs/digest.ts';
import { buildTree } from './commit-close.ts';
import { billedTenants, certificateOf, type PeriodPlace } from './read-billed.ts';

interface StatementRequest {
  workspaceId: string;
  period: Period;
  /** Undefined: all tenants. */
  tenantId?: string | undefined;
  nowMs: number;
}

/** A period with all that is billed in it. */
export interface BilledPeriodPlace extends BilledPeriod {
  place: PeriodPlace;
}

/** Where a period stands and how far it can be relied on; null when the ledger has nothing of it. */
export function findBilledPeriod(
  connection: LedgerConnection,
  { workspaceId, period, nowMs }: Pick<StatementRequest, 'workspaceId' | 'period' | 'nowMs'>,
): BilledPeriodPlace | null {
  const found = connection
    .prepare(
      `SELECT w.workspace_key AS workspaceKey, w.name AS workspaceName, p.closed_seq AS closedSeq, e.at, e.digest
       FROM workspaces w JOIN periods p USING (workspace_key) LEFT JOIN period_events e ON e.event_seq = p.closed_seq
       WHERE w.workspace_id = ? AND p.period = ?`,
    )
    .get(workspaceId, period) as
    | {
        workspaceKey: number;
        workspaceName: string;
        closedSeq: number | null;
        at: string | null;
        digest: string | null;
      }
    | undefined;
  if (found === undefined) return null;
  const place = { periodKey: periodKeyOf(found.workspaceKey, period), closedSeq: found.closedSeq };
  const isOver = elapsedFraction(period, nowMs) === 1;
  const latest = found.closedSeq === null ? certificateOf(connection, place) : null;
  return {
    workspaceId,
    workspaceName: found.workspaceName,
    period,
    state: found.closedSeq !== null ? 'closed' : isOver ? 'settling' : 'open',
    asOf: found.at ?? latest?.finishedAt ?? null,
    headDigest: found.digest ?? latest?.digest ?? null,
    place,
  };
}

/**
 * The statement of a period, from one state of the ledger: the caller holds a read transaction. Null when the ledger has
 * nothing of the period. That of a closed period is made of what its close has frozen alone.
 */
export function readStatement(connection: LedgerConnection, request: StatementRequest): StatementDocument | null {
  const { tenantId, nowMs } = request;
  const billed = findBilledPeriod(connection, request);
  if (billed === null) return null;
  const { place, state, asOf, headDigest, workspaceId, period } = billed;
  const isChosen = (id: string): boolean => tenantId === undefined || id === tenantId;
  if (place.closedSeq !== null) {
    const { tree, header, chosen } = buildTree(connection, place, isChosen);
    const close = readClose(connection, place.closedSeq);
    const isCommitted = close !== null && close.root === tree.root.toString('hex') && close.leaves === tree.size;
    const pathTo = (index: number): string[] => tree.inclusionProof(index).map((hash) => hash.toString('hex'));
    return statementDocument({
      header,
      state,
      asOf,
      headDigest,
      tenantsInPeriod: tree.size - 1,
      tenants: chosen.map(({ tenant, index }) => ({
        tenant,
        proof: isCommitted ? { index, leaf: encodeTenant(tenant), path: pathTo(index) } : null,
        projection: null,
      })),
      proof: isCommitted ? { ...close, period: { index: 0, leaf: encodePeriod(header), path: pathTo(0) } } : null,
    });
  }
  const fraction = elapsedFraction(period, nowMs);
  const tenants: { tenant: BilledTenant; proof: null; projection: { credits: bigint } | null }[] = [];
  let tenantsInPeriod = 0;
  for (const tenant of billedTenants(connection, place)) {
    tenantsInPeriod += 1;
    if (!isChosen(tenant.tenantId)) continue;
    tenants.push({ tenant, proof: null, projection: projectionOf(tenant.creditsUsed, fraction) });
  }
  const header = { workspaceId, period, certificate: certificateOf(connection, place) };
  return statementDocument({ header, state, asOf, headDigest, tenantsInPeriod, tenants, proof: null });
}

/** In a straight line, once a day of the month has passed; null before that and when the period is over. */
function projectionOf(credits: bigint, fraction: number): { credits: bigint } | null {
  if (fraction < 1 / 31 || fraction === 1) return null;
  return { credits: (credits * 1_000_000n) / BigInt(Math.round(fraction * 1_000_000)) };
}

function readClose(connection: LedgerConnection, eventSeq: number): Omit<CloseProof, 'period'> | null {
  const event = connection
    .prepare(
      `SELECT e.event_seq AS eventSeq, e.action, w.workspace_id AS workspaceId, p.period, e.at, e.actor, e.note,
         e.forced, e.overridden, e.tenants, e.credits_used AS creditsUsed, e.request_count AS requestCount,
         e.last_entry_id AS lastEntryId, e.previous_digest AS previousDigest, e.digest, c.leaves, c.root
       FROM period_events e JOIN close_commitments c USING (event_seq)
       JOIN workspaces w USING (workspace_key) JOIN periods p USING (period_key)
       WHERE e.event_seq = ?`,
    )
    .safeIntegers()
    .get(eventSeq) as CloseRecord | undefined;
  if (event === undefined) return null;
  const { digest, leaves, root } = event;
  const numbers = { eventSeq, forced: Number(event.forced), lastEntryId: Number(event.lastEntryId) };
  const closeLine = createLinkDigests(connection)
    .lineOfEvent({ ...event, ...numbers })
    .trimEnd();
  return { closeLine, closeDigest: digest, root, leaves: Number(leaves) };
}

type CloseRecord = Omit<DigestedEvent, 'eventSeq' | 'forced' | 'lastEntryId'> & {
  forced: bigint;
  lastEntryId: bigint;
  digest: string;
  leaves: bigint;
  root: string;
};
