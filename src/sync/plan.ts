import { addPeriods, type Period, periodAt, periodEndMs } from '../core/period.ts';
import type { RunWindow } from '../ledger/journal/staging/staging.ts';

/**
 * A period is read for this many hours after it has settled, because closing it requires two agreeing walks that are
 * this many hours apart.
 */
const CLOSING_HOURS = 24;

export interface WindowInput {
  nowMs: number;
  /** True if no run has been applied for the workspace yet. */
  first: boolean;
  kind: 'scheduled' | 'reconcile' | 'manual';
  lookbackPeriods: number;
  /** The number of hours after its end in which a period may still change. */
  settleHours: number;
  /** The first period, if given on the command line. It overrides all other settings. */
  from?: Period | undefined;
  /** The last period, if given on the command line; otherwise the current period is the last. */
  to?: Period | undefined;
}

/**
 * Returns the periods that a run reads. The first run and every reconciliation read the whole history. Other runs read
 * the current period, the previous period until it can be closed, and `lookbackPeriods` earlier periods.
 */
export function planWindow(input: WindowInput): RunWindow {
  const current = periodAt(input.nowMs);
  const to = input.to ?? current;
  if (input.from !== undefined) return { from: input.from, to };
  if (input.first || input.kind === 'reconcile') return { from: null, to };
  const settlesForMs = (input.settleHours + CLOSING_HOURS) * 3_600_000;
  const settling = input.nowMs < periodEndMs(addPeriods(current, -1)) + settlesForMs;
  const from = addPeriods(current, -input.lookbackPeriods - (settling ? 1 : 0));
  return { from: from < to ? from : to, to };
}
