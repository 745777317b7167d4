import type { BilledPeriod, BilledTenant } from '../../../billing/statement/billed.ts';
import { type CloseProof, type StatementDocument, statementDocument } from '../../../billing/statement/document.ts';
import { elapsedFraction, type Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { closeCommitments } from '../../store/schema/billing-tables.ts';
import { periodEvents } from '../../store/schema/close-tables.ts';
import { eq } from '../../store/schema/drizzle.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';
import { findPeriod, findWorkspace } from '../../store/subjects.ts';
import { coveringRun } from '../close/quiet-periods.ts';
import { linkAt } from '../links.ts';
import { createLinkDigests } from '../runs/digest.ts';
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
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace === undefined) return null;
  const periodKey = periodKeyOf(workspace.workspaceKey, period);
  const found = findPeriod(connection, periodKey);
  if (found === undefined && coveringRun(connection, workspace.workspaceKey, period) === null) return null;
  const closedSeq = found?.closedSeq ?? null;
  const place = { periodKey, closedSeq };
  const isOver = elapsedFraction(period, nowMs) === 1;
  const close = closedSeq === null ? null : linkAt(connection, closedSeq);
  const latest = closedSeq === null ? certificateOf(connection, place) : null;
  return {
    workspaceId,
    workspaceName: workspace.name,
    period,
    state: closedSeq !== null ? 'closed' : isOver ? 'settling' : 'open',
    asOf: close?.at ?? latest?.finishedAt ?? null,
    headDigest: close?.digest ?? latest?.digest ?? null,
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
    const close = readClose(connection, place.closedSeq);
    const { tree, header, chosen } = buildTree(connection, place, close?.salt ?? null, isChosen);
    const isCommitted = close !== null && close.root === tree.root && close.leaves === tree.leaves;
    return statementDocument({
      header,
      state,
      asOf,
      headDigest,
      tenantsInPeriod: tree.leaves - 1,
      tenants: chosen.map(({ tenant, place: at }) => ({
        tenant,
        proof: isCommitted ? tree.proofOfTenant(tenant, at) : null,
        projection: null,
      })),
      proof: isCommitted ? { ...close, period: tree.proofOfPeriod(header) } : null,
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

type Close = Omit<CloseProof, 'period'> & { salt: string | null };

function readClose(connection: LedgerConnection, eventSeq: number): Close | null {
  const found = query(connection)
    .select()
    .from(periodEvents)
    .innerJoin(closeCommitments, eq(closeCommitments.eventSeq, periodEvents.eventSeq))
    .innerJoin(workspaces, eq(workspaces.workspaceKey, periodEvents.workspaceKey))
    .innerJoin(periods, eq(periods.periodKey, periodEvents.periodKey))
    .where(eq(periodEvents.eventSeq, eventSeq))
    .get();
  if (found === undefined) return null;
  const { leaves, root, salt } = found.close_commitments;
  const { digest, tenants, ...event } = found.period_events;
  const { workspaceId } = found.workspaces;
  const { period } = found.periods;
  const said = { ...event, tenants: BigInt(tenants), workspaceId, period };
  const { line: closeLine, internal } = createLinkDigests(connection).lineOfEvent(said);
  return { closeLine, internal, closeDigest: digest, root, leaves, salt };
}
