import type { SideFigures } from './reconcile.ts';

/**
 * Why two sides differ. `late_usage`: one of them was read before the other. `correction`: the invoice leaves out what the period
 * bears for earlier ones. `rounding`: by no more than a minor unit a line. `other_card`: the same credits at other prices.
 */
export type Cause = 'late_usage' | 'correction' | 'rounding' | 'other_card';

/** What the ledger knows of a tenant beside what stands. */
export interface Circumstances {
  /** Lines of the tenant in the currency, and what those of corrections among them come to. */
  lines: number;
  correctedMinor: bigint;
  /** What the ledger had read of the period before, each with its price; null: it has none. */
  earlier: readonly SideFigures[];
}

/** Null where none of the causes gives the figures. */
export function whyDifferent(
  { ledger, service, invoice }: { ledger: SideFigures; service: SideFigures | null; invoice: SideFigures | null },
  { lines, correctedMinor, earlier }: Circumstances,
): Cause | null {
  if (service !== null && service.credits !== ledger.credits) return 'late_usage';
  if (invoice === null) return null;
  const own = (ledger.amountMinor ?? 0n) - correctedMinor;
  const wasRead = earlier.some(({ credits, amountMinor }) => {
    if (invoice.credits !== null) return credits === invoice.credits;
    return (
      amountMinor !== null &&
      (amountMinor === invoice.amountMinor || amountMinor + correctedMinor === invoice.amountMinor)
    );
  });
  if (invoice.credits !== null && invoice.credits !== ledger.credits) return wasRead ? 'late_usage' : null;
  if (invoice.amountMinor === null) return null;
  if (correctedMinor !== 0n && invoice.amountMinor === own) return 'correction';
  const off = (ledger.amountMinor ?? 0n) - invoice.amountMinor;
  if ((off < 0n ? -off : off) <= BigInt(lines)) return 'rounding';
  if (wasRead && invoice.credits === null) return 'late_usage';
  return invoice.credits === null ? null : 'other_card';
}
