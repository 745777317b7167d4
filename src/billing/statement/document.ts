import { formatMinor } from '../../core/money.ts';
import { type BilledLine, type BilledTenant, type Money, MoneySums, totalsOf } from './billed.ts';
import type { PeriodLeaf } from './leaf.ts';

/** Names the form of the document; another one gets another name. */
export const STATEMENT_FORMAT = 'usage_ledger.statement.v1';

/** A leaf of the tree that the close has committed to, with the way from it to the root: hashes in hex, from below. */
export interface LeafProof {
  /** A bit for each hash of the path, the lowest first: 1 where the leaf's side is the right one. */
  index: number;
  leaf: string;
  path: readonly string[];
}

/** What a closed period's statement stands on. */
export interface CloseProof {
  /** The line of the close, whose SHA-256 with a line feed behind it is its digest. */
  closeLine: string;
  closeDigest: string;
  root: string;
  /** Null: the statement goes to a tenant. */
  internal: InternalProof | null;
}

/** What speaks of the whole period: who closed it, its sums, how many tenants there are, and the run that it stands on. */
interface InternalProof {
  /** The line of the close has its hash: SHA-256 of the nonce, which is in hex here, and this text. */
  line: string;
  nonce: string;
  leaves: number;
  period: LeafProof;
}

/** What an open period's statement says of its end, when the credits go on as so far. */
export interface Projection {
  credits: bigint;
  money: readonly Money[];
}

export interface StatedTenant {
  tenant: BilledTenant;
  proof: LeafProof | null;
  projection: Projection | null;
}

/** Who bills, as it stands at the head and the foot of statements. */
export interface Letterhead {
  name: string;
  address: readonly string[];
  /** A `data:` URL. */
  logo: string | null;
  footer: string | null;
  language: 'en' | 'de';
}

interface StatementHead {
  header: PeriodLeaf;
  state: 'open' | 'settling' | 'closed';
  asOf: string | null;
  headDigest: string | null;
  /** Tenants of the whole period: more than are listed when the statement is of one. Null: it goes to a tenant. */
  tenantsInPeriod: number | null;
  /** Null while the period is not closed, and where the ledger does not say what its close has committed to. */
  proof: CloseProof | null;
  /** Null, or absent: the close has none. */
  letterhead?: Letterhead | null;
}

export interface StatementInput extends StatementHead {
  tenants: readonly StatedTenant[];
}

/** The statement as one JSON document: a function of its input alone, so a closed period's is the same each time. */
export function statementDocument(input: StatementInput) {
  const sums = new StatementSums();
  for (const { tenant, projection } of input.tenants) sums.add(tenant, projection);
  const { begin, end } = documentAround(input, sums);
  return { ...begin, tenants: input.tenants.map(tenantOf), ...end };
}

export type StatementDocument = ReturnType<typeof statementDocument>;

/** What a statement lists comes to, and what its tenants are projected to; null where they are not. */
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
 * The statement as it may be handed to its tenant: nothing of it speaks of others, of who closed, or of how many tenants there
 * are.
 *
 * @param statement of that tenant alone.
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

/** The same of one of the tenants of a document that lists others, too. */
export function statementOfTenant(
  begin: ReturnType<typeof documentAround>['begin'],
  tenant: StatementDocument['tenants'][number],
  end: ReturnType<typeof documentAround>['end'],
): StatementDocument {
  const { credits_used, totals, projected_credits, projected_totals } = tenant;
  const own = { ...begin, credits_used, totals };
  const projected =
    projected_credits === null ? own : { ...own, projected_credits, projected_totals: projected_totals ?? [] };
  return statementForTenant({ ...projected, tenants: [tenant], ...end });
}

/** What stands before and behind the tenants of the document. */
export function documentAround(head: StatementHead, sums: StatementSums) {
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
      totals: totalsOf(sums.charged.money),
      ...(head.letterhead == null ? {} : { letterhead: head.letterhead }),
      ...(sums.projectedCredits === null
        ? {}
        : { projected_credits: sums.projectedCredits, projected_totals: totalsOf(sums.projected.money) }),
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

export function tenantOf({ tenant, proof, projection }: StatedTenant) {
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
    ...(projection === null ? {} : { projected_totals: totalsOf(projection.money) }),
    totals: totalsOf(charged.money),
    lines: tenant.lines.map(lineOf),
    proof,
  };
}

function lineOf(line: BilledLine) {
  return {
    kind: line.kind,
    tier: line.tier,
    credits: line.credits,
    unit_credits: line.unitCredits,
    unit_price: line.unitPrice,
    amount_minor: line.amountMinor,
    amount: amountOf(line),
    currency: line.currency,
    rate_card: line.rateCard,
    corrects_period: line.correctsPeriod,
    entry_id: line.entryId,
    reason: line.reason,
    requests: line.requests,
  };
}

function amountOf({ amountMinor, currency }: BilledLine): string | null {
  return amountMinor === null || currency === null ? null : formatMinor(amountMinor, currency);
}
