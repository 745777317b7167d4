import { formatMinor } from '../../core/money.ts';
import { type BilledLine, type BilledTenant, billedTotals, type Money, MoneySums } from './billed.ts';
import type { PeriodLeaf } from './leaf.ts';

/** The version of the document's format. A changed format gets a new name. */
export const STATEMENT_FORMAT = 'usage_ledger.statement.v1';

/** A leaf of the tree that the close committed to, and its path to the root: hashes in hex, lowest first. */
export interface LeafProof {
  /** One bit per hash of the path, lowest first: 1 where the leaf's side is the right one. */
  index: number;
  leaf: string;
  path: readonly string[];
}

/** The proof of a closed period's statement. */
export interface CloseProof {
  /** The line of the close in the chain. Its digest is the SHA-256 of the line and a line feed. */
  closeLine: string;
  closeDigest: string;
  root: string;
  /** Facts for the biller only. Null in a statement for a tenant. */
  internal: InternalProof | null;
}

/** Facts about the whole period that tenants do not see: who closed it, its sums, the number of tenants and its run. */
interface InternalProof {
  /** The text that the close line commits to, as SHA-256 of the nonce (in hex here) and this text. */
  line: string;
  nonce: string;
  leaves: number;
  period: LeafProof;
}

/** The expected end of an open period at its current rate of use. */
export interface Projection {
  credits: bigint;
  money: readonly Money[];
}

export interface StatementTenant {
  tenant: BilledTenant;
  proof: LeafProof | null;
  projection: Projection | null;
}

/** The biller, as printed at the head and foot of statements. */
export interface Letterhead {
  name: string;
  address: readonly string[];
  /** A `data:` URL. */
  logo: string | null;
  footer: string | null;
  language: 'en' | 'de';
}

interface DocumentHead {
  header: PeriodLeaf;
  state: 'open' | 'settling' | 'closed';
  asOf: string | null;
  headDigest: string | null;
  /** The number of tenants in the whole period, also if the statement lists one. Null in a statement for a tenant. */
  tenantsInPeriod: number | null;
  /** Evidence of the close. Null if the period is not closed, or if the ledger has no commitment of the close. */
  proof: CloseProof | null;
  /** The biller at the time of the close. Null or absent if the close has no letterhead. */
  letterhead?: Letterhead | null;
}

export interface StatementInput extends DocumentHead {
  tenants: readonly StatementTenant[];
}

/**
 * Builds the statement as one JSON document. It depends on the input only, so a closed period's document never changes.
 */
export function statementDocument(input: StatementInput) {
  const sums = new StatementSums();
  for (const { tenant, projection } of input.tenants) sums.add(tenant, projection);
  const { begin, end } = documentFrame(input, sums);
  return { ...begin, tenants: input.tenants.map(tenantDocument), ...end };
}

export type StatementDocument = ReturnType<typeof statementDocument>;
export type DocumentTenant = StatementDocument['tenants'][number];

/** The sums of a statement and of its tenants' projections. `projectedCredits` is null without projections. */
export class StatementSums {
  creditsUsed = 0n;
  projectedCredits: bigint | null = null;
  readonly charged = new MoneySums();
  readonly projected = new MoneySums();

  add({ creditsUsed, lines }: BilledTenant, projection: Projection | null): void {
    this.creditsUsed += creditsUsed;
    for (const line of lines) this.charged.add(line);
    if (projection === null) return;
    this.projectedCredits = (this.projectedCredits ?? 0n) + projection.credits;
    for (const money of projection.money) this.projected.add(money);
  }
}

/**
 * Returns the statement that its tenant may receive, without facts about other tenants, their number or the person who
 * closed. The statement must list that tenant only.
 */
export function statementForTenant(statement: StatementDocument): StatementDocument {
  const { proof } = statement;
  return {
    ...statement,
    certificate: null,
    head_digest: proof?.close_digest ?? null,
    tenants_in_period: null,
    proof: proof && { ...proof, internal: null },
  };
}

/** Extracts one tenant's statement from the parts of a document that lists several. */
export function statementOfTenant(
  begin: ReturnType<typeof documentFrame>['begin'],
  tenant: DocumentTenant,
  end: ReturnType<typeof documentFrame>['end'],
): StatementDocument {
  const { credits_used, totals, projected_credits, projected_totals } = tenant;
  const own = { ...begin, credits_used, totals };
  const projected =
    projected_credits === null ? own : { ...own, projected_credits, projected_totals: projected_totals ?? [] };
  return statementForTenant({ ...projected, tenants: [tenant], ...end });
}

/** Builds the parts of the document before and after the tenants. */
export function documentFrame(head: DocumentHead, sums: StatementSums) {
  const { header, proof } = head;
  return {
    begin: {
      format: STATEMENT_FORMAT,
      workspace_id: header.workspaceId,
      period: header.period,
      state: head.state,
      estimate: head.state !== 'closed',
      as_of: head.asOf,
      certificate:
        header.certificate === null
          ? null
          : {
              run_id: header.certificate.runId,
              finished_at: header.certificate.finishedAt,
              records: header.certificate.records,
              digest: header.certificate.digest,
            },
      head_digest: head.headDigest,
      tenants_in_period: head.tenantsInPeriod,
      credits_used: sums.creditsUsed,
      totals: billedTotals(sums.charged.money),
      ...(head.letterhead == null ? {} : { letterhead: head.letterhead }),
      ...(sums.projectedCredits === null
        ? {}
        : { projected_credits: sums.projectedCredits, projected_totals: billedTotals(sums.projected.money) }),
    },
    end: {
      proof:
        proof === null
          ? null
          : {
              close: proof.closeLine,
              close_digest: proof.closeDigest,
              root: proof.root,
              internal: proof.internal,
            },
    },
  };
}

export function tenantDocument({ tenant, proof, projection }: StatementTenant) {
  const charged = new MoneySums();
  for (const line of tenant.lines) charged.add(line);
  return {
    tenant_id: tenant.tenantId,
    display_name: tenant.displayName,
    external_ref: tenant.externalRef,
    ...(tenant.statementNumber === undefined ? {} : { statement_number: tenant.statementNumber }),
    credits_used: tenant.creditsUsed,
    request_count: tenant.requestCount,
    projected_credits: projection?.credits ?? null,
    ...(projection === null ? {} : { projected_totals: billedTotals(projection.money) }),
    totals: billedTotals(charged.money),
    lines: tenant.lines.map(lineDocument),
    proof,
  };
}

function lineDocument(line: BilledLine) {
  return {
    kind: line.kind,
    tier: line.tier,
    credits: line.credits,
    unit_credits: line.unitCredits,
    unit_price: line.unitPrice,
    amount_minor: line.amountMinor,
    amount: formatLineAmount(line),
    currency: line.currency,
    rate_card: line.rateCard,
    corrects_period: line.correctsPeriod,
    entry_id: line.entryId,
    reason: line.reason,
    requests: line.requests,
  };
}

function formatLineAmount({ amountMinor, currency }: BilledLine): string | null {
  return amountMinor === null || currency === null ? null : formatMinor(amountMinor, currency);
}
