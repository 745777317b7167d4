import type { Level, Severity } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';

/** The report of a rule if its condition holds. */
export interface Finding {
  level: Level;
  severity: Severity;
  /** The limit in credits; null for rules without one. */
  threshold: bigint | null;
  /** The size of the condition: an alert has grown if this has grown. Null if growth is not notified. */
  magnitude: bigint | null;
  /** True if the magnitude is a bit mask of facts. Each new bit is growth and is notified once. */
  isBitMask: boolean;
  /** The rule must still hold this much later before anyone is notified; null: the finding need not be confirmed. */
  confirmAfterMs: number | null;
}

/**
 * The result of a rule. `holds`: its condition holds. `clear`: the condition does not hold; `atOnce` is true if no
 * second run has to confirm that. `between`: the condition narrowly fails. Then a firing alert stays open, with a
 * smaller magnitude if it shrank, and a pending alert stays pending only if `inconclusive` is true.
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
 * The previous period. `usable` is false if nothing can be compared with this period, because its figures are probably
 * too low: it is the first period of the workspace or tenant, or it was last read before its end.
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
