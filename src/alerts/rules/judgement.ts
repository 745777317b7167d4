import type { Level, Severity } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';

export interface Finding {
  level: Level;
  severity: Severity;
  /** Credits; null for rules that compare with none. */
  threshold: bigint | null;
  /** The size that levels are multiples of; null where growing is no news. */
  measure: bigint | null;
  /** The measure is a set of facts, one bit each, of which each is told once: growing is a bit more. */
  isSet: boolean;
  /** The rule must hold again this much later before anybody is told; null when once is enough. */
  confirmAfterMs: number | null;
}

/**
 * What a rule makes of its subject. `clear`: the cause is gone; `atOnce` when no second run has to agree. `between`: it
 * does not hold, but nearly, and an alert that fires stays, with the size that it has now if that is less; one that waits goes
 * on waiting when it `wavers`.
 */
export type Judgement =
  | { verdict: 'holds'; finding: Finding }
  | { verdict: 'between'; wavers: boolean; measure: bigint | null }
  | { verdict: 'clear'; atOnce: boolean };

export const UNDECIDED = { verdict: 'between', wavers: false, measure: null } as const satisfies Judgement;
export const WAVERING = { verdict: 'between', wavers: true, measure: null } as const satisfies Judgement;

export function holds(finding: Omit<Finding, 'measure' | 'isSet' | 'confirmAfterMs'> & Partial<Finding>): Judgement {
  return { verdict: 'holds', finding: { measure: null, isSet: false, confirmAfterMs: null, ...finding } };
}

export function clear(atOnce: boolean): Judgement {
  return { verdict: 'clear', atOnce };
}

/**
 * What is known of the period before. `usable` is false when its figure cannot be compared with: the first ever of the
 * workspace or of the tenant, or one whose last complete walk began before its end. Both are likely too low.
 */
export interface PreviousPeriod {
  figures: UsageFigures | null;
  usable: boolean;
}

/** What rests on little is likely, however much it is. */
export function asWarning(judgement: Judgement): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  return { verdict: 'holds', finding: { ...judgement.finding, level: 'likely', severity: 'warning' } };
}
