/**
 * The figures of a tenant in one source: the ledger, the service or the invoice. A figure is null if the source does
 * not report it.
 */
export interface SideFigures {
  credits: bigint | null;
  amountMinor: bigint | null;
}

/**
 * The result for a tenant. `matched`: the ledger, the service and the invoice agree. `missing`: the ledger has usage or
 * charges, but no invoice has the tenant. `extra`: the tenant is on an invoice, but not in the ledger. `different`: the
 * figures differ by more than the tolerance.
 */
export type ReconcileStatus = 'matched' | 'missing' | 'extra' | 'different';

export interface ReconciledTenant {
  tenantId: string;
  status: ReconcileStatus;
  ledger: SideFigures | null;
  /** The figures that the service reports. Null if the service does not list the tenant or was not asked. */
  service: SideFigures | null;
  invoice: SideFigures | null;
}

export interface ReconcileInput {
  ledger: ReadonlyMap<string, SideFigures>;
  /** The figures that the service reports, by tenant id. Null if the service was not asked. */
  service: ReadonlyMap<string, SideFigures> | null;
  invoice: ReadonlyMap<string, SideFigures>;
  /** The largest difference of amounts that still counts as equal, in minor units. Credits must be equal exactly. */
  toleranceMinor: bigint;
}

/**
 * Compares the figures of the service, the ledger and the invoice for each tenant. The result is sorted by tenant id.
 */
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
  // A tenant without usage and charges does not have to be on an invoice.
  const isBillable = (ledger.credits ?? 0n) !== 0n || (ledger.amountMinor ?? 0n) !== 0n;
  if (invoice === null && isBillable) return 'missing';
  if (hasService && (service?.credits ?? 0n) !== (ledger.credits ?? 0n)) return 'different';
  if (invoice === null) return 'matched';
  if (invoice.credits !== null && ledger.credits !== null && invoice.credits !== ledger.credits) return 'different';
  const off = invoice.amountMinor === null ? 0n : invoice.amountMinor - (ledger.amountMinor ?? 0n);
  return (off < 0n ? -off : off) > toleranceMinor ? 'different' : 'matched';
}

/**
 * The causes of a difference. `late_usage`: usage changed between the readings, so one source has older figures.
 * `correction`: the invoice leaves out corrections of earlier periods. `manual`: the invoice leaves out manual lines.
 * `rounding`: the amounts differ by at most one minor unit per line. `other_card`: the credits are equal, but the
 * prices differ. `other_currency`: an invoice line has the symbol or code of another currency.
 */
export const CAUSES = ['late_usage', 'correction', 'manual', 'rounding', 'other_card', 'other_currency'] as const;
export type Cause = (typeof CAUSES)[number];

export interface DifferenceContext {
  /** The number of lines that the tenant's charge has in the compared currency. */
  lines: number;
  correctedMinor: bigint;
  manualMinor: bigint;
  /** The tenant's figures in earlier readings of the same period, with the amounts that these cost. */
  earlier: readonly SideFigures[];
}

/** Returns the cause of a difference between the sources; null if no known cause explains the figures. */
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
