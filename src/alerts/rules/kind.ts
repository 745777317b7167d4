import type { Severity } from '../../core/text/alert-words.ts';

/** Facts that hold for every alert of one rule. */
interface KindBase {
  /**
   * Version of the rule, stored with each alert. Raise the version whenever the same figures can give another result.
   */
  version: number;
  title: string;
  /** `both`: its alerts may be warnings or critical. */
  severity: Severity | 'both';
}

/** The reason why one alert inhibits another. */
export type InhibitionCondition = 'new_id' | 'metering_stopped' | 'shared_growth';

/** Facts about a usage rule. The pipeline and the messages read these facts. */
export interface UsageKind extends KindBase {
  docs: UsageDocs;
  /**
   * `readings`: the rule compares two readings of one period, between which a service may remove or restore credits.
   * Absent: the rule compares months.
   */
  compares?: 'readings';
  levels?: Levels;
  /** The reason for which alerts of this rule inhibit other alerts. Absent: they inhibit none. */
  inhibits?: InhibitionCondition;
  inhibitedBy?: readonly InhibitionCondition[];
  /** The credits at stake. Absent: none. */
  stake?: Stake;
  growth?: Growth;
}

/** How alerts of a rule move from likely to settled. */
interface Levels {
  /** A likely alert rests on a forecast. Its level then becomes `happened`, then `settled`. */
  fromForecast?: true;
  /**
   * What happens to an alert when its month settles. `kept`: the alert stays, and its figures are final. `ends`: the
   * alert ends.
   */
  settled?: 'kept' | 'ends';
  /** Messages about settled figures wait for the daily digest. */
  settledGoesToDigest?: true;
}

/** The credits that an alert is about. */
interface Stake {
  /**
   * `growth`: credits above the compared month; an open month adds to them and a plan may expect them. `fall`: credits
   * below the compared month; the threshold is the highest figure that is still a fall. `over_limit`: credits above the
   * threshold. `change`: the difference between two readings.
   */
  of: 'growth' | 'fall' | 'over_limit' | 'change';
  /** Evidence shows the tenant's share of the workspace's growth. */
  hasShare?: true;
  /** Evidence lists the tenants with the largest growth. */
  byTenant?: true;
  /** The setting that would have suppressed the alert. */
  setting?: 'ratio' | 'min_credits';
}

/** How the growth of an open alert is notified. Absent: at multiples of the notified magnitude. */
interface Growth {
  /** The magnitude is a bit mask of facts; each new fact is notified once. */
  by: 'facts';
}

/** A rule's rows in the table of the documentation, in Markdown. */
export interface UsageDocs {
  /** The condition in figures, by level. The key '' stands for all levels. */
  holds: Readonly<Record<string, string>>;
  /** A description of the severity; absent where the rule's `severity` says everything. */
  severity?: string;
}

/** Facts about a rule for system alerts. */
export interface SystemKind extends KindBase {
  docs: { holds: string };
  /** The part of an alert's cause before the colon; the part after it names a channel, an export or an outlet. */
  causes: Readonly<Record<string, CauseKind>>;
  /**
   * `workspace`: alerts of the rule say that a workspace cannot be read. A complete run ends these alerts. Several
   * workspaces of one service fail together. `ledger`: its alerts are about the whole ledger.
   */
  scope: 'workspace' | 'ledger';
  /** Its alerts inhibit system alerts of a lower rank and all alerts about usage. */
  inhibits?: { rank: 1 | 2 };
}

export interface CauseKind {
  /** Overrides the rule's severity. */
  severity?: Severity;
  /** The condition in words; absent if it is the only cause of the rule. */
  docs?: string;
}
