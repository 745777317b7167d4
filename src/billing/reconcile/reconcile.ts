/** One side's figures for a tenant. Null if the side does not report that figure. */
export interface SideFigures {
  credits: bigint | null;
  amountMinor: bigint | null;
}

/**
 * `matched`: all sides agree. `missing`: used, but not invoiced. `extra`: invoiced, but not in the ledger. `different`:
 * figures differ by more than the tolerance.
 */
export type ReconcileStatus = 'matched' | 'missing' | 'extra' | 'different';

export interface ReconciledTenant {
  tenantId: string;
  status: ReconcileStatus;
  ledger: SideFigures | null;
  /** The figures of the service. Null if the service does not list the tenant or was not asked. */
  service: SideFigures | null;
  invoice: SideFigures | null;
}

export interface ReconcileInput {
  ledger: ReadonlyMap<string, SideFigures>;
  /** The figures of the service. Null if the service was not asked. */
  service: ReadonlyMap<string, SideFigures> | null;
  invoice: ReadonlyMap<string, SideFigures>;
  /** The allowed difference of amounts, in minor units. Credits must agree exactly. */
  toleranceMinor: bigint;
}

/** Compares service, ledger and invoice for each tenant, sorted by tenant id. */
export function reconcile({ ledger, service, invoice, toleranceMinor }: ReconcileInput): ReconciledTenant[] {
  const ids = new Set([...ledger.keys(), ...(service?.keys() ?? []), ...invoice.keys()]);
  return [...ids].sort().map((tenantId) => {
    const sides = {
      ledger: ledger.get(tenantId) ?? null,
      service: service?.get(tenantId) ?? null,
      invoice: invoice.get(tenantId) ?? null,
    };
    return { tenantId, status: compareSides(sides, service !== null, toleranceMinor), ...sides };
  });
}

type TenantSides = Pick<ReconciledTenant, 'ledger' | 'service' | 'invoice'>;

function compareSides(
  { ledger, service, invoice }: TenantSides,
  hasService: boolean,
  toleranceMinor: bigint,
): ReconcileStatus {
  if (ledger === null) return invoice === null ? 'different' : 'extra';
  // A tenant without usage or charges need not be on an invoice.
  const isBillable = (ledger.credits ?? 0n) !== 0n || (ledger.amountMinor ?? 0n) !== 0n;
  if (invoice === null && isBillable) return 'missing';
  if (hasService && (service?.credits ?? 0n) !== (ledger.credits ?? 0n)) return 'different';
  if (invoice === null) return 'matched';
  if (invoice.credits !== null && ledger.credits !== null && invoice.credits !== ledger.credits) return 'different';
  const off = invoice.amountMinor === null ? 0n : invoice.amountMinor - (ledger.amountMinor ?? 0n);
  return (off < 0n ? -off : off) > toleranceMinor ? 'different' : 'matched';
}

/**
 * The causes of a difference. `late_usage`: one side was read before the other. `correction`: the invoice leaves out
 * corrections of earlier periods. `manual`: it leaves out manual lines. `rounding`: at most one minor unit per line.
 * `other_card`: the same credits at other prices. `other_currency`: an invoice line has the symbol or code of another
 * currency.
 */
export const CAUSES = ['late_usage', 'correction', 'manual', 'rounding', 'other_card', 'other_currency'] as const;
export type Cause = (typeof CAUSES)[number];

export interface DifferenceContext {
  /** The number of the tenant's lines in the currency. */
  lines: number;
  correctedMinor: bigint;
  manualMinor: bigint;
  /** Earlier readings of the same period with their prices. */
  earlier: readonly SideFigures[];
}

/** Returns the cause of a difference, or null if no cause explains the figures. */
export function findCause(
  { ledger, service, invoice }: { ledger: SideFigures; service: SideFigures | null; invoice: SideFigures | null },
  { lines, correctedMinor, manualMinor, earlier }: DifferenceContext,
): Cause | null {
  if (service !== null && service.credits !== ledger.credits) return 'late_usage';
  if (invoice === null) return null;
  const charged = ledger.amountMinor ?? 0n;
  const booked = correctedMinor + manualMinor;
  const wasRead = earlier.some(({ credits, amountMinor }) => {
    if (invoice.credits !== null) return credits === invoice.credits;
    return (
      amountMinor !== null && (amountMinor === invoice.amountMinor || amountMinor + booked === invoice.amountMinor)
    );
  });
  if (invoice.credits !== null && invoice.credits !== ledger.credits) return wasRead ? 'late_usage' : null;
  if (invoice.amountMinor === null) return null;
  if (correctedMinor !== 0n && invoice.amountMinor === charged - correctedMinor) return 'correction';
  if (manualMinor !== 0n && invoice.amountMinor === charged - manualMinor) return 'manual';
  if (booked !== 0n && invoice.amountMinor === charged - booked) return 'correction';
  const off = charged - invoice.amountMinor;
  if ((off < 0n ? -off : off) <= BigInt(lines)) return 'rounding';
  if (wasRead && invoice.credits === null) return 'late_usage';
  return invoice.credits === null ? null : 'other_card';
}
