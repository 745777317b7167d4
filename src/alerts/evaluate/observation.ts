import type { Threshold } from '../rules/measures/threshold.ts';
import type { Judgement, PeriodPhase, RuleName, UsageFigures } from '../rules/rule.ts';

/** What an alert is about. One alert a subject. */
export interface AlertSubject {
  rule: RuleName;
  /** Null for alerts about ourselves. */
  periodKey: number | null;
  /** Null for alerts about the workspace or ourselves. */
  tenantKey: number | null;
}

/** What a rule said of a subject, with the figures behind it. */
export interface Observation extends AlertSubject {
  judgement: Judgement;
  /** What the current figures are compared with; for some rules an earlier reading of the same period. */
  previous: UsageFigures | null;
  current: UsageFigures | null;
  /** Credits. */
  threshold: bigint | null;
  built: Threshold | null;
  /** Credits that the open period comes to; null when the rule has not asked. */
  projected: bigint | null;
  phase: PeriodPhase | null;
  /** Words for alerts about ourselves. */
  detail: string | null;
  /** The tenants of an incident. */
  members: readonly string[];
}

/** An observation with what most of them do not have. */
export function observation(
  seen: AlertSubject & { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'judgement'>>,
): Observation {
  const nothing = { previous: null, current: null, threshold: null, built: null, detail: null };
  const timeless = { projected: null, phase: null };
  return { ...nothing, ...timeless, members: [], ...seen };
}
