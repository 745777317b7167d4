import { formatMinor } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { ChargeLineKind } from '../rates/charge.ts';

/** A line of a tenant's bill for a period, with the values that the ledger stores. */
export interface BilledLine {
  /**
   * The kind of the line. `correction`: a change of a closed period; its amount is the charge after the change minus
   * the charge before, by the card of that period. `manual`: a line that a person entered.
   */
  kind: ChargeLineKind | 'correction' | 'manual';
  tier: number | null;
  /**
   * The credits in the tier, or the credits that a correction adds. Null for requests, a discount, a minimum or a
   * manual line.
   */
  credits: bigint | null;
  unitCredits: bigint | null;
  unitPrice: string | null;
  /** The number of priced requests. Null on every line whose kind is not `requests`. */
  requests: bigint | null;
  /** The amount of the line in minor units. Null for a correction that cannot be priced. */
  amountMinor: bigint | null;
  /** The currency code. Both `currency` and `rateCard` are null for a correction that no card prices. */
  currency: string | null;
  rateCard: string | null;
  /** The closed period that a correction changes. Null for all other lines. */
  correctsPeriod: Period | null;
  /**
   * The ledger entry that caused a correction. Null for all other lines, and for a line that reverses corrections
   * because a period was reopened.
   */
  entryId: bigint | null;
  /** The reason that a person gave for a manual line or a manual correction. Null for all other lines. */
  reason: string | null;
  /**
   * The card's discount on usage in percent. It is absent from lines that were decoded from a leaf of the close,
   * because a leaf does not contain it.
   */
  discountPercent?: string | null;
}

/**
 * Reports whether a line belongs to the charge for the period's own usage: it is neither a correction nor a manual
 * line.
 */
export function isPeriodCharge({ kind }: Pick<BilledLine, 'kind'>): boolean {
  return kind !== 'correction' && kind !== 'manual';
}

/** A tenant's usage and bill in one period. `lines` has no charge lines if no rate card prices the tenant. */
export interface BilledTenant {
  tenantId: string;
  displayName: string | null;
  externalRef: string | null;
  /** The credits used in the period, without the credits of corrections, which are in the lines of the corrections. */
  creditsUsed: bigint;
  requestCount: bigint;
  lines: readonly BilledLine[];
  /** The statement number that the close assigned; absent if the close assigned none. */
  statementNumber?: string;
  /**
   * The tenant's labels: a JSON object whose values are text. Absent from tenants that were decoded from a leaf of the
   * close, because a leaf does not contain them.
   */
  labels?: string | null;
}

/** A period of a workspace, with its state and the time and source of its figures. */
export interface BilledPeriod {
  workspaceId: string;
  workspaceName: string;
  period: Period;
  state: 'open' | 'settling' | 'closed';
  /** The time of the close; if the period is not closed, the time of the latest run that covered it. */
  asOf: string | null;
  /**
   * The digest of the close's link in the chain; if the period is not closed, that of the latest run that covered it.
   */
  headDigest: string | null;
}

export interface Money {
  currency: string;
  amountMinor: bigint;
}

export class MoneySums {
  readonly #byCurrency = new Map<string, bigint>();

  /** Adds an amount to the sum of its currency. A line without a price is ignored. */
  add({ currency, amountMinor }: { currency: string | null; amountMinor: bigint | null }): void {
    if (currency === null || amountMinor === null) return;
    this.#byCurrency.set(currency, (this.#byCurrency.get(currency) ?? 0n) + amountMinor);
  }

  /** The sum of each currency, sorted by currency code. */
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
