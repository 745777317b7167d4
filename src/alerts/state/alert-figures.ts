import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { toUsageFigures, type UsageFigures } from '../figures/usage-figures.ts';

/** The figures that an alert compares, and its limit in credits. */
export interface AlertFigures {
  previous: UsageFigures | null;
  current: UsageFigures | null;
  threshold: bigint | null;
}

/** The same figures as columns of an alert. */
type AlertFigureColumns = Pick<
  typeof alerts.$inferSelect,
  'previousCredits' | 'currentCredits' | 'previousRequests' | 'currentRequests' | 'threshold'
>;

export const NO_FIGURES: AlertFigures = { previous: null, current: null, threshold: null };

export function toAlertFigures(row: AlertFigureColumns): AlertFigures {
  return {
    previous: toUsageFigures(row.previousCredits, row.previousRequests),
    current: toUsageFigures(row.currentCredits, row.currentRequests),
    threshold: row.threshold,
  };
}

export function toFigureColumns({ previous, current, threshold }: AlertFigures): AlertFigureColumns {
  return {
    previousCredits: previous?.credits ?? null,
    currentCredits: current?.credits ?? null,
    previousRequests: previous?.requests ?? null,
    currentRequests: current?.requests ?? null,
    threshold,
  };
}

export function compareFigures(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
