import type { Level } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';
import type { Conditions, PeriodLook } from './context/candidates.ts';
import type { RuleContext, TenantFacts } from './context/rule-context.ts';
import type { Judgement } from './judgement.ts';
import type { AlertSubject, Observation, PredecessorTenant } from './observation.ts';

/** The detection of a usage rule. */
export interface Detection {
  /**
   * Returns a SQL condition for tenants that the rule may apply to; null: none. The conditions of all rules form one
   * statement.
   */
  candidates?: (context: RuleContext, look: PeriodLook) => Conditions | null;
  /** Others that it may hold for in a period; null is the workspace. */
  inPeriod?: (context: RuleContext, look: PeriodLook) => Iterable<number | null>;
  /** Returns subjects that the run itself points to, in any period; `current` is the open one. */
  inRun?: (context: RuleContext, current: number) => Iterable<Candidate>;
  /** `known` is the open alert. Null: there is nothing to judge. */
  ofTenant?: (
    context: RuleContext,
    tenant: TenantFacts,
    known: OpenAlert | null,
    before?: UsageFigures,
  ) => RuleResult | null;
  ofWorkspace?: (context: RuleContext, periodKey: number, known: OpenAlert | null) => RuleResult | null;
}

/** The open alert that a rule is judged again for. */
export interface OpenAlert {
  /** The level at which it fires; null while it waits. */
  firing: Level | null;
  magnitude: bigint | null;
  previous: UsageFigures | null;
  /** Asked only of newcomers. */
  predecessor: () => PredecessorTenant | null;
}

/** A subject to judge, with its earlier figures if they matter. */
export interface Candidate {
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
  before?: UsageFigures;
}

/** Result of a rule. Absent figures are those of the period and of the previous one. */
export type RuleResult = { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'phase'>>;
