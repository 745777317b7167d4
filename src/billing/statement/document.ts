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

/** A tenant of a statement, with what stands behind it. */
export interface StatedTenant {
  tenant: BilledTenant;
  proof: LeafProof | null;
  projection: Projection | null;
}

interface StatementHead {
  header: PeriodLeaf;
  state: 'open' | 'settling' | 'closed';
  asOf: string | null;
  headDigest: string | null;
  /** Tenants of the whole period: more than are listed when the statement is of one. */
  tenantsInPeriod: number;
  /** Null while the period is not closed, and for closes of versions that committed to nothing. */
  proof: CloseProof | null;
}

export interface StatementInput extends StatementHead {
  tenants: readonly StatedTenant[];
}

/** The statement as one JSON document: a function of its input alone, so a closed period's is the same each time. */
export function statementDocument(input: StatementInput) {
  const sums = new StatementSums();
  for (const { tenant } of input.tenants) sums.add(tenant);
  const { begin, end } = documentAround(input, sums);
  return { ...begin, tenants: input.tenants.map(tenantOf), ...end };
}

export type StatementDocument = ReturnType<typeof statementDocument>;

/** What a statement lists comes to. */
export class StatementSums {
  creditsUsed = 0n;
  readonly #byCurrency = new Map<string, bigint>();

  add({ creditsUsed, lines }: Pick<BilledTenant, 'creditsUsed' | 'lines'>): void {
    this.creditsUsed += creditsUsed;
    for (const { currency, amountMinor } of lines) {
      if (currency === null || amountMinor === null) continue;
      this.#byCurrency.set(currency, (this.#byCurrency.get(currency) ?? 0n) + amountMinor);
    }
  }

  /** By currency, in the order of their codes; what cannot be priced is in none. */
  get totals() {
    return [...this.#byCurrency]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, sum]) => ({ currency, amount_minor: sum, amount: formatMinor(sum, currency) }));
  }
}

/** What stands before and behind the tenants of the document. */
export function documentAround(head: StatementHead, sums: StatementSums) {
  const { header, proof } = head;
  return {
    begin: {
      format: proof !== null && proof.internal === null ? UNSALTED_FORMAT : FORMAT,
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
      totals: sums.totals,
    },
    end: {
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
    },
  };
}

/** A tenant as it stands in the document. */
export function tenantOf({ tenant, proof, projection }: StatedTenant) {
  return {
    tenant_id: tenant.tenantId,
    display_name: tenant.displayName,
    external_ref: tenant.externalRef,
    credits_used: tenant.creditsUsed,
    request_count: tenant.requestCount,
    projected_credits: projection?.credits ?? null,
    totals: totalsOf(tenant.lines),
    lines: tenant.lines.map(lineOf),
    proof,
  };
}

function totalsOf(lines: readonly BilledLine[]) {
  const sums = new StatementSums();
  sums.add({ creditsUsed: 0n, lines });
  return sums.totals;
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
