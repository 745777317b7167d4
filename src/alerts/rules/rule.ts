import type { Level } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';
import type { Judgement } from './judgement.ts';
import type { Conditions, PeriodLook } from './judging/candidates.ts';
import type { Judging, TenantFacts } from './judging/judging.ts';
import type { AlertSubject, Former, Observation } from './observation.ts';

/** The detection of a usage rule. */
export interface Detection {
  /**
   * Returns a SQL condition for tenants that the rule may apply to; null: none. The conditions of all rules form one
   * statement.
   */
  candidates?: (judging: Judging, look: PeriodLook) => Conditions | null;
  /** Others that it may hold for in a period; null is the workspace. */
  inPeriod?: (judging: Judging, look: PeriodLook) => Iterable<number | null>;
  /** Returns subjects that the run itself points to, in any period; `current` is the open one. */
  inRun?: (judging: Judging, current: number) => Iterable<Found>;
  /** `known` is the open alert. Null: there is nothing to judge. */
  ofTenant?: (judging: Judging, tenant: TenantFacts, known: Known | null, before?: UsageFigures) => Said | null;
  ofWorkspace?: (judging: Judging, periodKey: number, known: Known | null) => Said | null;
}

/** The open alert that a rule is judged again for. */
export interface Known {
  /** The level at which it fires; null while it waits. */
  firing: Level | null;
  measure: bigint | null;
  previous: UsageFigures | null;
  /** Asked only of newcomers. */
  former: () => Former | null;
}

/** A subject to judge, with its earlier figures if they matter. */
export interface Found {
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
  before?: UsageFigures;
}

/** Result of a rule. Absent figures are those of the period and of the previous one. */
export type Said = { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'phase'>>;
