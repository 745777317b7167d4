import { formatMinor } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { ChargeLineKind } from '../rates/charge.ts';

/** One line of what a tenant is billed in a period, as the ledger holds it. */
export interface BilledLine {
  /**
   * `correction`: a closed period changed; charge(after) - charge(before) on the card of that period. `manual`: a line by hand.
   */
  kind: ChargeLineKind | 'correction' | 'manual';
  tier: number | null;
  /** Credits in the tier, or those that a correction adds; null for a discount, a minimum and a line by hand. */
  credits: bigint | null;
  unitCredits: bigint | null;
  unitPrice: string | null;
  /** Null but of the line that prices them. */
  requests: bigint | null;
  /** Null: a correction that cannot be priced. */
  amountMinor: bigint | null;
  /** Null, like the card: no card prices the correction. */
  currency: string | null;
  rateCard: string | null;
  /** The closed period that a correction is about; else null. */
  correctsPeriod: Period | null;
  /** The entry that brought a correction; null when a reopen took corrections back, and for all other lines. */
  entryId: bigint | null;
  /** Why there is a line by hand, or a correction by one; else null. */
  reason: string | null;
  /** What the card takes off its usage lines; no part of a leaf, and absent in what was read from one. */
  discountPercent?: string | null;
}

/** Whether a line is of the price of the period's own credits. */
export function isOwn({ kind }: Pick<BilledLine, 'kind'>): boolean {
  return kind !== 'correction' && kind !== 'manual';
}

/** A tenant in one period: what it used, and what it is billed. Without a rate card there are no lines. */
export interface BilledTenant {
  tenantId: string;
  displayName: string | null;
  externalRef: string | null;
  /** Of the period itself; what corrections add is in their lines. */
  creditsUsed: bigint;
  requestCount: bigint;
  lines: readonly BilledLine[];
  /** Of its statement, given by the close; absent where none are given. */
  statementNumber?: string;
  /** JSON object of texts; no part of a leaf, and absent in what was read from one. */
  labels?: string | null;
}

/** Which period of which workspace, and how far it can be relied on. */
export interface BilledPeriod {
  workspaceId: string;
  workspaceName: string;
  period: Period;
  state: 'open' | 'settling' | 'closed';
  /** When the ledger learned what it says here: the close, else the latest run that covered the period. */
  asOf: string | null;
  /** Of the close, else of the latest run. */
  headDigest: string | null;
}

export interface Money {
  currency: string;
  amountMinor: bigint;
}

export class MoneySums {
  readonly #byCurrency = new Map<string, bigint>();

  /** What cannot be priced is in no sum. */
  add({ currency, amountMinor }: { currency: string | null; amountMinor: bigint | null }): void {
    if (currency === null || amountMinor === null) return;
    this.#byCurrency.set(currency, (this.#byCurrency.get(currency) ?? 0n) + amountMinor);
  }

  /** In the order of their codes. */
  get money(): Money[] {
    const sorted = [...this.#byCurrency].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([currency, amountMinor]) => ({ currency, amountMinor }));
  }
}

export function totalsOf(money: readonly Money[]) {
  return money.map(({ currency, amountMinor }) => {
    return { currency, amount_minor: amountMinor, amount: formatMinor(amountMinor, currency) };
  });
}
