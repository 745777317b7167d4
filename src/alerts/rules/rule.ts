import type { Severity } from '../../core/text/alert-words.ts';
import type { Judgement, Level, UsageFigures } from '../measures/judgement.ts';
import type { AlertSubject, Former, Observation } from '../measures/observation.ts';
import type { Facts } from '../wording/notification.ts';
import type { Conditions, PeriodLook } from './judging/candidates.ts';
import type { Judging, TenantFacts } from './judging/judging.ts';

/** All that is so of one rule. A new one is a file of this form, its name in `RULES`, and its place in `table.ts`. */
export type Rule = UsageRule | OwnRule;

interface RuleForm {
  /** Stored with each alert; raised whenever the same figures could give another answer than before. */
  version: number;
  /** What people call an alert of it. */
  title: string;
  /** How bad its alerts are; of both, critical from when it has happened. */
  severity: Severity | 'both';
}

/** A rule's rows in the tables of the documentation, in Markdown. */
export interface RuleDocs {
  /** What it tells of, for who is on call. */
  tells: string;
  /** What must be so, in figures: by level or cause, or of all of it (the name is empty). */
  holds: Readonly<Record<string, string>>;
  /** How bad, where the rule's `severity` does not say it: of each cause, or of all of it. */
  severity?: string | Readonly<Record<string, Severity>>;
}

/** About what is used. */
export interface UsageRule extends RuleForm {
  kind: 'usage';
  docs: RuleDocs;
  /** It finds growth, which a plan expects and an open period adds to. */
  isGrowth?: true;
  /** It finds that less is used: its threshold is the most that still counts. */
  isFall?: true;
  /** It goes from likely over happened to settled. */
  hasLevels?: true;
  /** It compares two readings of one period, which a service may take back and give again. */
  ofReadings?: true;
  /** It compares settled months by their figures alone. */
  ofSettled?: true;
  /** What it finds when a month has settled is over, and can be read in the morning. */
  canWait?: true;
  /** Its size is a set of facts, one bit each. */
  isSet?: true;
  /** What goes over its threshold is what counts, and nothing is foretold but by itself. */
  overThreshold?: true;
  /** Its growth is told as a part of what its workspace has grown by. */
  sharesIncrease?: true;
  /** A newcomer that is the new id of another explains that this one has stopped; who has stopped is asked first. */
  rename?: 'stop' | 'newcomer';
  /** Everybody of its workspace has stopped: the stop of one is told by it. */
  explainsStops?: true;
  /** The setting that would have kept it quiet. */
  quietBy?: 'ratio' | 'min_credits';
  /** It is over once its month has settled: there is nothing that anybody could still do. */
  endsSettled?: true;
  words: UsageWords;

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

/** About our own work. */
export interface OwnRule extends RuleForm {
  kind: 'own';
  docs: RuleDocs;
  /** What the causes of its alerts begin with: one of a channel or an export goes on with its name. */
  causes: readonly string[];
  /** It is about the ledger as a whole, in no workspace. */
  ofLedger?: true;
  /** It keeps a workspace from being read: several of one service have it at once, and a complete run proves it gone. */
  isOfReading?: true;
  /** It explains all of a lower rank, and what usage does. */
  explains?: 1 | 2;
  words: (cause: string | undefined) => OwnWords;
}

/** What is said of alerts about usage, in the order in which it is asked. Empty sentences are left out. */
export interface UsageWords {
  /** What, to whom, how much beside what, how sure, since when. */
  found: (facts: Facts) => string[];
  /** Why it is over. */
  over: (facts: Facts) => string;
  /** Of many tenants, behind who they are. */
  manyFound: (month: string, likely: 'all' | 'some' | 'none') => string;
  /** What a message adds that is told because it grew; absent: that it has. */
  grown?: string;
  /** What the money at stake is the price of. */
  cost: string;
  /** What the figure of one of many is compared with; absent: that of the months before. */
  beside?: (facts: Facts) => string;
}

/** What is said of our own work, of one workspace, channel or job, or of several by their number. */
export interface OwnWords {
  /** What is wrong, before the words of the fault. */
  found: (whose: string) => string;
  /** That it is over. */
  over: (whose: string) => string;
  /** What to do, where a person has to. */
  todo: string;
}

/** What is known of the alert that is open. */
export interface Known {
  /** The level at which it fires; null while it waits. */
  firing: Level | null;
  measure: bigint | null;
  previous: UsageFigures | null;
  former: Former | null;
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
