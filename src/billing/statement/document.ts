import { formatMinor } from '../../core/money.ts';
import type { BilledLine, BilledTenant } from './billed.ts';
import type { PeriodLeaf } from './leaf.ts';

/** Names the form of the document; another one gets another name. Closes from before they were salted have theirs. */
const FORMAT = 'usage-ledger/statement/2';
const UNSALTED_FORMAT = 'usage-ledger/statement/1';
export const STATEMENT_FORMATS = [UNSALTED_FORMAT, FORMAT] as const;

/** A leaf of the tree that the close has committed to, with the way from it to the root: hashes in hex, from below. */
export interface LeafProof {
  /** Its place; of a salted close a bit for each hash of the path, 1 where the leaf's side is the right one. */
  index: number;
  leaf: string;
  path: readonly string[];
}

/** What a closed period's statement stands on. */
export interface CloseProof {
  /** The line of the close, whose SHA-256 with a line feed behind it is its digest. */
  closeLine: string;
  /** What the line has but the hash of: SHA-256 of the nonce, which is in hex here, and the text. Null: from before. */
  internal: { line: string; nonce: string } | null;
  closeDigest: string;
  root: string;
  leaves: number;
  period: LeafProof;
}

/** What an open period's statement says of its end, when the credits go on as so far. */
export interface Projection {
  credits: bigint;
}

export interface StatementInput {
  header: PeriodLeaf;
  state: 'open' | 'settling' | 'closed';
  asOf: string | null;
  headDigest: string | null;
  /** Tenants of the whole period: more than are listed when the statement is of one. */
  tenantsInPeriod: number;
  tenants: readonly { tenant: BilledTenant; proof: LeafProof | null; projection: Projection | null }[];
  /** Null while the period is not closed, and for closes of versions that committed to nothing. */
  proof: CloseProof | null;
}

/** The statement as one JSON document: a function of its input alone, so a closed period's is the same each time. */
export function statementDocument(input: StatementInput) {
  const { header, proof } = input;
  return {
    format: proof !== null && proof.internal === null ? UNSALTED_FORMAT : FORMAT,
    workspace_id: header.workspaceId,
    period: header.period,
    state: input.state,
    estimate: input.state !== 'closed',
    as_of: input.asOf,
    certificate:
      header.certificate === null
        ? null
        : {
            run_id: header.certificate.runId,
            finished_at: header.certificate.finishedAt,
            records: header.certificate.records,
            digest: header.certificate.digest,
          },
    head_digest: input.headDigest,
    tenants_in_period: input.tenantsInPeriod,
    credits_used: input.tenants.reduce((sum, { tenant }) => sum + tenant.creditsUsed, 0n),
    totals: totalsOf(input.tenants.flatMap(({ tenant }) => tenant.lines)),
    tenants: input.tenants.map(({ tenant, proof: leafProof, projection }) => ({
      tenant_id: tenant.tenantId,
      display_name: tenant.displayName,
      external_ref: tenant.externalRef,
      credits_used: tenant.creditsUsed,
      request_count: tenant.requestCount,
      projected_credits: projection?.credits ?? null,
      totals: totalsOf(tenant.lines),
      lines: tenant.lines.map(lineOf),
      proof: leafProof,
    })),
    proof:
      proof === null
        ? null
        : {
            close: proof.closeLine,
            ...(proof.internal === null ? {} : { internal: proof.internal.line, nonce: proof.internal.nonce }),
            close_digest: proof.closeDigest,
            root: proof.root,
            leaves: proof.leaves,
            period: proof.period,
          },
  };
}

export type StatementDocument = ReturnType<typeof statementDocument>;

/** Sums by currency, in the order of their codes; what cannot be priced is in none. */
export function totalsOf(lines: readonly BilledLine[]) {
  const sums = new Map<string, bigint>();
  for (const { currency, amountMinor } of lines) {
    if (currency !== null && amountMinor !== null) sums.set(currency, (sums.get(currency) ?? 0n) + amountMinor);
  }
  return [...sums]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => ({ currency, amount_minor: sum, amount: formatMinor(sum, currency) }));
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
  };
}

function amountOf({ amountMinor, currency }: BilledLine): string | null {
  return amountMinor === null || currency === null ? null : formatMinor(amountMinor, currency);
}
