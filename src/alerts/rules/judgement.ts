import type { Level, Severity } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';

export interface Finding {
  level: Level;
  severity: Severity;
  /** Credits; null for rules that compare with none. */
  threshold: bigint | null;
  /** The size that growth is measured by; null if growth is not notified. */
  magnitude: bigint | null;
  /** The magnitude is a bit mask of facts; each new bit is growth and is notified once. */
  isBitMask: boolean;
  /** The rule must hold again this much later before anyone is notified; null: once is enough. */
  confirmAfterMs: number | null;
}

/**
 * Result of a rule. `clear`: the cause is gone; `atOnce`: no second run has to confirm it. `between`: the condition
 * narrowly fails. A firing alert stays, with a smaller magnitude if it shrank; a pending one keeps waiting only if the
 * result is `inconclusive`.
 */
export type Judgement =
  | { verdict: 'holds'; finding: Finding }
  | { verdict: 'between'; inconclusive: boolean; magnitude: bigint | null }
  | { verdict: 'clear'; atOnce: boolean };

export const UNDECIDED = { verdict: 'between', inconclusive: false, magnitude: null } as const satisfies Judgement;
export const INCONCLUSIVE = { verdict: 'between', inconclusive: true, magnitude: null } as const satisfies Judgement;

export function holds(
  finding: Omit<Finding, 'magnitude' | 'isBitMask' | 'confirmAfterMs'> & Partial<Finding>,
): Judgement {
  return { verdict: 'holds', finding: { magnitude: null, isBitMask: false, confirmAfterMs: null, ...finding } };
}

export function clear(atOnce: boolean): Judgement {
  return { verdict: 'clear', atOnce };
}

/**
 * The previous period. `usable` is false if it cannot serve as a comparison: the first period of the workspace or
 * tenant, or one last read completely before its end. Both figures are probably too low.
 */
export interface PreviousPeriod {
  figures: UsageFigures | null;
  usable: boolean;
}

/** Lowers a finding with weak evidence to a likely warning. */
export function asWarning(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  return { verdict: 'holds', finding: { ...judgement.finding, level: 'likely', severity: 'warning' } };
}
