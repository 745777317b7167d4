import { addPeriods, type Period, periodAt, periodEndMs } from '../core/period.ts';
import type { Window } from '../ledger/journal/staging/staging.ts';

/** A settled period is read for this much longer, so that two agreeing walks lie far enough apart to close it. */
const CLOSING_HOURS = 24;

export interface PlanInput {
  nowMs: number;
  /** Nothing has been applied for the workspace yet. */
  first: boolean;
  kind: 'scheduled' | 'reconcile' | 'manual';
  lookbackPeriods: number;
  /** How long after its end a period still counts as moving. */
  settleHours: number;
  /** Given on the command line; win over everything. */
  from?: Period | undefined;
  to?: Period | undefined;
}

/**
 * The window of whole periods that a run asks for. The first run and every reconciliation ask for the whole history;
 * the others for the open period, the one before it while it settles, and `lookbackPeriods` more before those.
 */
export function planWindow(input: PlanInput): Window {
  const current = periodAt(input.nowMs);
  const to = input.to ?? current;
  if (input.from !== undefined) return { from: input.from, to };
  if (input.first || input.kind === 'reconcile') return { from: null, to };
  const settlesForMs = (input.settleHours + CLOSING_HOURS) * 3_600_000;
  const settling = input.nowMs < periodEndMs(addPeriods(current, -1)) + settlesForMs;
  const from = addPeriods(current, -input.lookbackPeriods - (settling ? 1 : 0));
  return { from: from < to ? from : to, to };
}
