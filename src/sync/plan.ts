import { addPeriods, type Period, periodAt, periodEndMs } from '../core/period.ts';
import type { Window } from '../ledger/journal/staging/staging.ts';

/** Hours that a settled period is still read, so that two agreeing walks are far enough apart to close it. */
const CLOSING_HOURS = 24;

export interface PlanInput {
  nowMs: number;
  /** No run has been applied for the workspace yet. */
  first: boolean;
  kind: 'scheduled' | 'reconcile' | 'manual';
  lookbackPeriods: number;
  /** Hours after its end during which a period may still change. */
  settleHours: number;
  /** From the command line; overrides everything else. */
  from?: Period | undefined;
  to?: Period | undefined;
}

/**
 * Plans the window of whole periods for a run. The first run and every reconciliation read the whole history; other
 * runs read the open period, the previous one while it settles, and `lookbackPeriods` more before those.
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
