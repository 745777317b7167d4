import { CommitTree } from '../../../billing/proof/salted-tree.ts';
import type { BilledPeriod, BilledTenant } from '../../../billing/statement/billed.ts';
import {
  type CloseProof,
  documentFrame,
  type LeafProof,
  type Letterhead,
  type StatementDocument,
  StatementSums,
  tenantDocument,
} from '../../../billing/statement/document.ts';
import { elapsedFraction, type Period } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { closeCommitments, letterheads, periodEvents } from '../../store/schema/billing-tables.ts';
import { eq, query } from '../../store/schema/drizzle.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';
import { findPeriod, findWorkspace } from '../../store/subjects.ts';
import { findLink } from '../chain.ts';
import { findCoveringRun } from '../close/adjustments.ts';
import { createLinkDigests } from '../runs/digest.ts';
import { tenantForecaster } from './credit-pricer.ts';
import { type InvoiceNumberLookup, readInvoiceNumbers } from './invoice-numbers.ts';
import { billedTenants, certificateOf, type PeriodPlace } from './read-billed.ts';

interface StatementRequest {
  workspaceId: string;
  period: Period;
  tenantId?: string | undefined;
  nowMs: number;
  /**
   * False: the statement contains no proofs. Use it for formats that do not show proofs, because computing them takes
   * most of the time.
   */
  proven?: boolean;
}

export interface LocatedBilledPeriod extends BilledPeriod {
  place: PeriodPlace;
}

/**
 * Returns the state of a period, with the time and digest of its close or, if it is not closed, of its last run.
 * Returns null when the ledger does not have the period.
 */
export function findBilledPeriod(
  connection: LedgerDb,
  { workspaceId, period, nowMs }: Pick<StatementRequest, 'workspaceId' | 'period' | 'nowMs'>,
): LocatedBilledPeriod | null {
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace === undefined) return null;
  const periodKey = periodKeyOf(workspace.workspaceKey, period);
  const found = findPeriod(connection, periodKey);
  if (found === undefined && findCoveringRun(connection, workspace.workspaceKey, period) === null) return null;
  const closedSeq = found?.closedSeq ?? null;
  const place = { periodKey, closedSeq };
  const isOver = elapsedFraction(period, nowMs) === 1;
  const close = closedSeq === null ? null : findLink(connection, closedSeq);
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
 * A statement whose tenants are read one by one while the statement is written, because a period may have a million
 * tenants.
 */
export interface StatementStream {
  begin: ReturnType<typeof documentFrame>['begin'];
  end: ReturnType<typeof documentFrame>['end'];
  /** Yields the tenants as the document contains them, in the byte order of their ids. */
  tenants: () => Iterable<StatementDocument['tenants'][number]>;
  /** Returns a tenant's invoice number. It is recorded after the close, so it is not part of the document. */
  invoiceOf: InvoiceNumberLookup;
}

/** Reads a whole statement into memory, see `streamStatement`. The caller must hold a read transaction. */
export function readStatement(connection: LedgerDb, request: StatementRequest): StatementDocument | null {
  const stream = streamStatement(connection, request);
  return stream === null ? null : { ...stream.begin, tenants: [...stream.tenants()], ...stream.end };
}

/**
 * Opens the statement of a period. The caller must hold a read transaction until the last tenant is read, so that all
 * of the statement comes from the same state of the ledger. Returns null when the ledger does not have the period. The
 * statement of a closed period contains only data that its close froze.
 */
export function streamStatement(connection: LedgerDb, request: StatementRequest): StatementStream | null {
  const { tenantId, proven: wanted = true } = request;
  const billed = findBilledPeriod(connection, request);
  if (billed === null) return null;
  const { place, state, asOf, headDigest, workspaceId, period } = billed;
  const isChosen = (tenant: BilledTenant): boolean => tenantId === undefined || tenant.tenantId === tenantId;
  const close = place.closedSeq === null || !wanted ? null : readClose(connection, place.closedSeq);
  const header = { workspaceId, period, certificate: certificateOf(connection, place) };
  const tree = close === null ? null : new CommitTree(close.salt);
  tree?.addPeriod(header);
  const forecaster = state === 'open' ? tenantForecaster(connection, { workspaceId, period, asOf }) : null;
  const projectionOf = (tenant: BilledTenant) => forecaster?.ofTenant(tenant) ?? null;
  const sums = new StatementSums();
  let tenantsInPeriod = 0;
  for (const tenant of billedTenants(connection, place)) {
    tenantsInPeriod += 1;
    tree?.addTenant(tenant);
    if (isChosen(tenant)) sums.add(tenant, projectionOf(tenant));
  }
  const proven = close !== null && close.root === tree?.root && close.leaves === tree.leaves ? tree : null;
  const proof = close === null || proven === null ? null : closeProof(close, proven.proofOfPeriod(header));
  const tenants = function* () {
    for (const tenant of billedTenants(connection, place)) {
      if (!isChosen(tenant)) continue;
      yield tenantDocument({ tenant, proof: proven?.proofOfTenant(tenant) ?? null, projection: projectionOf(tenant) });
    }
  };
  const { begin, end } = documentFrame(
    { header, state, asOf, headDigest, tenantsInPeriod, proof, letterhead: proof && (close?.letterhead ?? null) },
    sums,
  );
  return { begin, end, tenants, invoiceOf: readInvoiceNumbers(connection, place) };
}

interface StatementClose {
  line: string;
  internal: { line: string; nonce: string };
  digest: string;
  leaves: number;
  root: string;
  salt: string;
  letterhead: Letterhead | null;
}

function closeProof({ line, internal, digest, leaves, root }: StatementClose, period: LeafProof): CloseProof {
  return {
    closeLine: line,
    closeDigest: digest,
    root,
    internal: { line: internal.line, nonce: internal.nonce, leaves, period },
  };
}

/** Reads the commitment of a close; null when the ledger has none. */
function readClose(connection: LedgerDb, eventSeq: number): StatementClose | null {
  const found = query(connection)
    .select()
    .from(periodEvents)
    .innerJoin(closeCommitments, eq(closeCommitments.eventSeq, periodEvents.eventSeq))
    .leftJoin(letterheads, eq(letterheads.sha256, closeCommitments.letterhead))
    .innerJoin(workspaces, eq(workspaces.workspaceKey, periodEvents.workspaceKey))
    .innerJoin(periods, eq(periods.periodKey, periodEvents.periodKey))
    .where(eq(periodEvents.eventSeq, eventSeq))
    .get();
  if (found === undefined) return null;
  const { leaves, root, salt } = found.close_commitments;
  const content = found.letterheads?.content;
  const letterhead = content === undefined ? null : (JSON.parse(content) as Letterhead);
  const { digest, tenants, ...event } = found.period_events;
  const { workspaceId } = found.workspaces;
  const { period } = found.periods;
  const digested = { ...event, tenants: BigInt(tenants), workspaceId, period };
  const { line, internal } = createLinkDigests(connection).lineOfEvent(digested);
  return internal === null ? null : { line, internal, digest, leaves, root, salt, letterhead };
}
