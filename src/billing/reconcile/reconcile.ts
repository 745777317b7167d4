/** What one side says of a tenant; null: it says nothing of that figure. */
export interface SideFigures {
  credits: bigint | null;
  amountMinor: bigint | null;
}

/**
 * `matched`: all sides agree. `missing`: used, and not on the invoice. `extra`: on the invoice, and the ledger knows nothing of
 * it. `different`: figures disagree by more than the tolerance.
 */
export type ReconcileStatus = 'matched' | 'missing' | 'extra' | 'different';

export interface ReconciledTenant {
  tenantId: string;
  status: ReconcileStatus;
  ledger: SideFigures | null;
  /** Null: the tenant is absent there, or the service was not asked. */
  service: SideFigures | null;
  invoice: SideFigures | null;
}

export interface ReconcileInput {
  ledger: ReadonlyMap<string, SideFigures>;
  /** Null: not asked. */
  service: ReadonlyMap<string, SideFigures> | null;
  invoice: ReadonlyMap<string, SideFigures>;
  /** By how many minor units an amount may be off; credits must agree. */
  toleranceMinor: bigint;
}

/** Sets service, ledger and invoice side by side, tenant by tenant, in the order of their ids. */
export function reconcile({ ledger, service, invoice, toleranceMinor }: ReconcileInput): ReconciledTenant[] {
  const ids = new Set([...ledger.keys(), ...(service?.keys() ?? []), ...invoice.keys()]);
  return [...ids].sort().map((tenantId) => {
    const sides = {
      ledger: ledger.get(tenantId) ?? null,
      service: service?.get(tenantId) ?? null,
      invoice: invoice.get(tenantId) ?? null,
    };
    return { tenantId, status: judge(sides, service !== null, toleranceMinor), ...sides };
  });
}

type Sides = Pick<ReconciledTenant, 'ledger' | 'service' | 'invoice'>;

function judge({ ledger, service, invoice }: Sides, wasAsked: boolean, toleranceMinor: bigint): ReconcileStatus {
  if (ledger === null) return invoice === null ? 'different' : 'extra';
  // Who used nothing and owes nothing need not be on an invoice.
  const isBillable = (ledger.credits ?? 0n) !== 0n || (ledger.amountMinor ?? 0n) !== 0n;
  if (invoice === null && isBillable) return 'missing';
  if (wasAsked && (service?.credits ?? 0n) !== (ledger.credits ?? 0n)) return 'different';
  if (invoice === null) return 'matched';
  if (invoice.credits !== null && ledger.credits !== null && invoice.credits !== ledger.credits) return 'different';
  const off = invoice.amountMinor === null ? 0n : invoice.amountMinor - (ledger.amountMinor ?? 0n);
  return (off < 0n ? -off : off) > toleranceMinor ? 'different' : 'matched';
}

/**
 * Why two sides differ. `late_usage`: one of them was read before the other. `correction`: the invoice leaves out what the period
 * bears for earlier ones, `manual` its lines by hand. `rounding`: by no more than a minor unit a line. `other_card`: the same credits at other prices.
 * `other_currency`: a line of the invoice has the sign or code of another one.
 */
export type Cause = 'late_usage' | 'correction' | 'manual' | 'rounding' | 'other_card' | 'other_currency';

export interface Circumstances {
  /** Lines of the tenant in the currency, and what corrections and lines by hand among them come to. */
  lines: number;
  correctedMinor: bigint;
  manualMinor: bigint;
  /** What the ledger had read of the period before, each with its price; null: it has none. */
  earlier: readonly SideFigures[];
}

/** Null where none of the causes gives the figures. */
export function whyDifferent(
  { ledger, service, invoice }: { ledger: SideFigures; service: SideFigures | null; invoice: SideFigures | null },
  { lines, correctedMinor, manualMinor, earlier }: Circumstances,
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
