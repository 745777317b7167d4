import type { Severity } from '../../core/text/alert-words.ts';
import type { Facts } from '../messages/facts/facts.ts';

/** What is so of every alert of one rule, whoever judges it, and what is said of it. */
export type AlertKind = UsageKind | OwnKind;

interface KindForm {
  /** Stored with each alert; raised whenever the same figures could give another answer than before. */
  version: number;
  title: string;
  /** How bad its alerts are; of both, critical from when it has happened. */
  severity: Severity | 'both';
}

export interface UsageKind extends KindForm {
  kind: 'usage';
  docs: UsageDocs;
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
  /** It says what most tenants of a workspace have grown by: the jump of one that goes no further is told by it. */
  explainsJumps?: true;
  /** The setting that would have kept it quiet. */
  quietBy?: 'ratio' | 'min_credits';
  /** It is over once its month has settled: there is nothing that anybody could still do. */
  endsSettled?: true;
  words: UsageWords;
}

/** A rule's rows in the table of the documentation, in Markdown. */
export interface UsageDocs {
  /** What must be so, in figures: by level, or of all of it (the name is empty). */
  holds: Readonly<Record<string, string>>;
  /** How bad, where the rule's `severity` does not say it. */
  severity?: string;
}

/** What is said of alerts about usage, in the order in which it is asked. Empty sentences are left out. */
export interface UsageWords {
  /** What, to whom, how much beside what, how sure, since when. */
  found: (facts: Facts) => string[];
  over: (facts: Facts) => string;
  /** Of many tenants, behind who they are. */
  manyFound: (month: string, likely: 'all' | 'some' | 'none') => string;
  /** What a message adds that is told because it grew; absent: that it has. */
  grown?: string;
  /** What the money at stake is the price of; absent: nothing is at stake. */
  cost?: string;
  /** What the figure of one of many is compared with; absent: that of the months before. */
  beside?: (facts: Facts) => string;
}

export interface OwnKind extends KindForm {
  kind: 'own';
  docs: { holds: string };
  /** What the causes of its alerts begin with: one of a channel or an export goes on with its name. */
  causes: Readonly<Record<string, OwnCause>>;
  /** It is about the ledger as a whole, in no workspace. */
  ofLedger?: true;
  /** It keeps a workspace from being read: several of one service have it at once, and a complete run proves it gone. */
  isOfReading?: true;
  /** It explains all of a lower rank, and what usage does. */
  explains?: 1 | 2;
}

/** What is said of our own work, of one workspace, channel or job, or of several by their number. */
export interface OwnCause {
  /** How bad, where the rule's `severity` does not say it. */
  severity?: Severity;
  /** What is wrong, before the words of the fault. */
  found: (whose: string) => string;
  /** That it is over. */
  over: (whose: string) => string;
  /** What to do, where a person has to. */
  todo: string;
  /** What must be so; absent where the rule has no other cause. */
  docs?: string;
}

/** What is said of a fault of our own, by its cause. */
export function ownWords({ causes }: OwnKind, { cause }: Facts): OwnCause {
  return causes[cause?.split(':')[0] ?? ''] as OwnCause;
}
