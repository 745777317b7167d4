import { formatMinor } from '../../core/money.ts';
import { type BilledLine, type BilledTenant, billedTotals, type Money, MoneySums } from './billed.ts';
import type { PeriodLeaf } from './leaf.ts';

/** The name and version of the document's format. If the format changes, it gets a new name. */
export const STATEMENT_FORMAT = 'usage_ledger.statement.v1';

/**
 * A leaf of the tree that the close committed to, and the path from the leaf to the root: the sibling hashes in hex,
 * lowest level first.
 */
export interface LeafProof {
  /**
   * One bit for each hash of the path, lowest bit first. The bit is 1 if the hash of the path is the left one of the
   * pair.
   */
  index: number;
  leaf: string;
  path: readonly string[];
}

/** The proof that a statement is part of a close. */
export interface CloseProof {
  /** The text line of the close in the chain. `closeDigest` is the SHA-256 of this line followed by a line feed. */
  closeLine: string;
  closeDigest: string;
  root: string;
  /** Facts that only the biller may see. Null in a statement that is made for a tenant. */
  internal: InternalProof | null;
}

/**
 * Facts about the whole period that tenants must not see: who closed the period, its sums, the number of tenants, and
 * the run behind the figures.
 */
interface InternalProof {
  /**
   * The text of these facts. The close line contains the SHA-256 of `nonce` followed by this text. `nonce` is in hex
   * here; its bytes are hashed.
   */
  line: string;
  nonce: string;
  leaves: number;
  period: LeafProof;
}

/** The expected figures at the end of an open period if usage continues at the current rate. */
export interface Projection {
  credits: bigint;
  money: readonly Money[];
}

export interface StatementTenant {
  tenant: BilledTenant;
  proof: LeafProof | null;
  projection: Projection | null;
}

/** The biller's details, which are printed at the head and foot of statements. */
export interface Letterhead {
  name: string;
  address: readonly string[];
  /** The logo as a `data:` URL; null for none. */
  logo: string | null;
  footer: string | null;
  language: 'en' | 'de';
}

interface DocumentHead {
  header: PeriodLeaf;
  state: 'open' | 'settling' | 'closed';
  asOf: string | null;
  headDigest: string | null;
  /**
   * The number of tenants in the whole period, even if the statement lists only one of them. Null in a statement that
   * is made for a tenant.
   */
  tenantsInPeriod: number | null;
  /**
   * The proof that the statement is part of the close. Null if the period is not closed, or if the close did not commit
   * to a tree.
   */
  proof: CloseProof | null;
  /** The biller's details at the time of the close; null or absent if the close has no letterhead. */
  letterhead?: Letterhead | null;
}

export interface StatementInput extends DocumentHead {
  tenants: readonly StatementTenant[];
}

/**
 * Builds the JSON document of a statement. The document depends only on the input, so the document of a closed period
 * never changes.
 */
export function statementDocument(input: StatementInput) {
  const sums = new StatementSums();
  for (const { tenant, projection } of input.tenants) sums.add(tenant, projection);
  const { begin, end } = documentFrame(input, sums);
  return { ...begin, tenants: input.tenants.map(tenantDocument), ...end };
}

export type StatementDocument = ReturnType<typeof statementDocument>;
export type DocumentTenant = StatementDocument['tenants'][number];

/**
 * The sums over the tenants of a statement, and the sums of their projections. `projectedCredits` is null if no tenant
 * has a projection.
 */
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
 * Returns the statement in the form that the tenant may receive: without facts about other tenants, the number of
 * tenants, or the person who closed the period. The given statement must list only this tenant.
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

/**
 * Builds one tenant's statement from parts of a document that lists several tenants. `begin` and `end` are the parts
 * before and after the tenants.
 */
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

/** Builds the members of a document that come before (`begin`) and after (`end`) the list of tenants. */
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
