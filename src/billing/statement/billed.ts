import { formatMinor } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { ChargeLineKind } from '../rates/charge.ts';

/** One line of a tenant's bill for a period, as stored in the ledger. */
export interface BilledLine {
  /**
   * `correction`: the change of a closed period, charge(after) - charge(before) by that period's card. `manual`: a
   * manual line.
   */
  kind: ChargeLineKind | 'correction' | 'manual';
  tier: number | null;
  /** Credits in the tier, or added by a correction. Null for a discount, a minimum or a manual line. */
  credits: bigint | null;
  unitCredits: bigint | null;
  unitPrice: string | null;
  /** The priced requests. Null on every line except the `requests` line. */
  requests: bigint | null;
  /** The price. Null for a correction that cannot be priced. */
  amountMinor: bigint | null;
  /** The currency code. Null, as is the rate card, if no card prices the correction. */
  currency: string | null;
  rateCard: string | null;
  /** The closed period that a correction changes. Null for all other lines. */
  correctsPeriod: Period | null;
  /** The entry that caused a correction. Null for all other lines, and if a reopen reversed corrections. */
  entryId: bigint | null;
  /** The reason of a manual line or of a manual correction. Null for all other lines. */
  reason: string | null;
  /** The card's discount on its usage lines. It is not part of a leaf, so lines decoded from a leaf lack it. */
  discountPercent?: string | null;
}

/** Reports whether a line prices the period's own credits. */
export function isPeriodCharge({ kind }: Pick<BilledLine, 'kind'>): boolean {
  return kind !== 'correction' && kind !== 'manual';
}

/** A tenant's usage and bill in one period. Without a rate card there are no lines. */
export interface BilledTenant {
  tenantId: string;
  displayName: string | null;
  externalRef: string | null;
  /** The credits of the period itself. Corrections have theirs in their lines. */
  creditsUsed: bigint;
  requestCount: bigint;
  lines: readonly BilledLine[];
  /** The statement number that the close assigned. Absent if the close assigns none. */
  statementNumber?: string;
  /** A JSON object of texts. It is not part of a leaf, so tenants decoded from a leaf lack it. */
  labels?: string | null;
}

/** A workspace's period, its state and the time of its figures. */
export interface BilledPeriod {
  workspaceId: string;
  workspaceName: string;
  period: Period;
  state: 'open' | 'settling' | 'closed';
  /** The time of the close, or of the latest run that covered the period. */
  asOf: string | null;
  /** The head digest of the close, or of the latest run. */
  headDigest: string | null;
}

export interface Money {
  currency: string;
  amountMinor: bigint;
}

export class MoneySums {
  readonly #byCurrency = new Map<string, bigint>();

  /** Adds an amount. A line without a price is in no sum. */
  add({ currency, amountMinor }: { currency: string | null; amountMinor: bigint | null }): void {
    if (currency === null || amountMinor === null) return;
    this.#byCurrency.set(currency, (this.#byCurrency.get(currency) ?? 0n) + amountMinor);
  }

  /** The sums, ordered by currency code. */
  get money(): Money[] {
    const sorted = [...this.#byCurrency].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([currency, amountMinor]) => ({ currency, amountMinor }));
  }
}

export function billedTotals(money: readonly Money[]) {
  return money.map(({ currency, amountMinor }) => {
    return { currency, amount_minor: amountMinor, amount: formatMinor(amountMinor, currency) };
  });
}
