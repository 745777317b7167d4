import type { Level } from '../../core/text/alert-words.ts';
import type { UsageFigures } from '../figures/usage-figures.ts';
import type { Judgement } from './judgement.ts';
import type { Conditions, PeriodLook } from './judging/candidates.ts';
import type { Judging, TenantFacts } from './judging/judging.ts';
import type { AlertSubject, Former, Observation } from './observation.ts';

/** How a rule about usage judges. A new one is a file of this form and its place in `RULES`, and its kind beside the others'. */
export interface Detection {
  /** What must be so of a tenant's figures that it may hold for; null: it holds for nobody now. All rules' conditions are one statement. */
  candidates?: (judging: Judging, look: PeriodLook) => Conditions | null;
  /** Others that it may hold for in a period; null is the workspace. */
  inPeriod?: (judging: Judging, look: PeriodLook) => Iterable<number | null>;
  /** What the run itself says of subjects, in any period; `current` is the open one. */
  inRun?: (judging: Judging, current: number) => Iterable<Found>;
  /** `known` is the open alert. Null: there is nothing to judge. */
  ofTenant?: (judging: Judging, tenant: TenantFacts, known: Known | null, before?: UsageFigures) => Said | null;
  ofWorkspace?: (judging: Judging, periodKey: number, known: Known | null) => Said | null;
}

/** What is known of the alert that is open. */
export interface Known {
  /** The level at which it fires; null while it waits. */
  firing: Level | null;
  measure: bigint | null;
  previous: UsageFigures | null;
  /** Asked only of newcomers. */
  former: () => Former | null;
}

/** A subject that a run says something of, with its figures before where they count. */
export interface Found {
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
  before?: UsageFigures;
}

/** What a rule says; figures that are left out are those of the period and of the one before. */
export type Said = { judgement: Judgement } & Partial<Omit<Observation, keyof AlertSubject | 'phase'>>;
