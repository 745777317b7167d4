import type { Level } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';
import type { Conditions, PeriodLook } from './context/candidates.ts';
import type { RuleContext, TenantFacts } from './context/rule-context.ts';
import type { Judgement } from './judgement.ts';
import type { AlertSubject, Observation, PredecessorTenant } from './observation.ts';

/** The detection of a usage rule. */
export interface Detection {
  /**
   * Returns a SQL condition for the tenants that the rule may apply to; null if it applies to none. The conditions of
   * all rules are combined into one statement.
   */
  candidates?: (context: RuleContext, look: PeriodLook) => Conditions | null;
  /** Returns the keys of other tenants that the rule may apply to in a period; null stands for the workspace. */
  inPeriod?: (context: RuleContext, look: PeriodLook) => Iterable<number | null>;
  /**
   * Returns tenants or workspaces, in any period, that must be judged because of something in this run. `current` is
   * the open period.
   */
  inRun?: (context: RuleContext, current: number) => Iterable<Candidate>;
  /** Judges a tenant; null if the rule has no result. `known` is the open alert, null if there is none. */
  ofTenant?: (
    context: RuleContext,
    tenant: TenantFacts,
    known: OpenAlert | null,
    before?: UsageFigures,
  ) => RuleResult | null;
  ofWorkspace?: (context: RuleContext, periodKey: number, known: OpenAlert | null) => RuleResult | null;
}

/** An open alert whose rule is judged again. */
export interface OpenAlert {
  /** The level at which the alert fires; null while the alert is pending. */
  firing: Level | null;
  magnitude: bigint | null;
  previous: UsageFigures | null;
  /** Returns the predecessor that the alert names; null if it names none. Used only by the rule for new tenants. */
  predecessor: () => PredecessorTenant | null;
}

/** A tenant or workspace to judge in a period. `before`: its figures before this run, if the rule needs them. */
export interface Candidate {
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
  before?: UsageFigures;
}

/** Result of a rule. Absent figures default to those of the period and of the previous month. */
export type RuleResult = { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'phase'>>;
