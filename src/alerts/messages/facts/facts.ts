import type { Period } from '../../../core/period.ts';
import type { AlertState, Level, NotificationEvent, RuleName, Severity } from '../../../core/text/alert-words.ts';
import type { GrowthDriver } from '../../figures/change-reason.ts';

export type NotificationType = 'alert.firing' | 'alert.escalated' | 'alert.resolved';

/** A figure in two periods. In JSON these are exact integers of any size, also beyond 2^53. */
export interface FigureChange {
  previous: bigint;
  current: bigint;
  change: bigint;
}

/** The payload of a message to a channel. `schemas/alert-notification.json` describes the same fields. */
export interface Notification {
  /** `msg_...`; the same on every attempt, so that receivers can drop repeats. */
  notification_id: string;
  type: NotificationType;
  /** The event of this message; more precise than `type`. */
  event: NotificationEvent;
  /** Rises with each message about this alert on this channel; a message with a lower revision is outdated. */
  revision: number;
  episode: number;
  closed_because: ClosedBecause | null;
  alert_id: string;
  rule: RuleName;
  /**
   * The failing part of a system alert, followed by a colon and its subject: `service`, `channel:on-call`. Null for
   * alerts about usage.
   */
  cause: string | null;
  rule_version: number;
  level: Level;
  /** The number of messages about the growth of the alert. */
  notified_count: number;
  severity: Severity;
  state: AlertState;
  workspace_id: string | null;
  tenant_id: string | null;
  tenant_name: string | null;
  period: Period | null;
  /** The period of the previous figures: the previous month, or the same period for rules that compare two readings. */
  previous_period: Period | null;
  /** `change_percent` has one decimal; null when there is no positive previous figure to divide by. */
  credits: (FigureChange & { change_percent: number | null }) | null;
  requests: FigureChange | null;
  threshold: bigint | null;
  /** The reason for the growth; null if the credits did not grow. */
  reason: GrowthDriver | null;
  evidence: Evidence;
  /** The run that brought the figures; null when no run did. */
  run_id: string | null;
  /**
   * When the condition of the alert began to hold, ISO-8601 UTC. In a message about the end: when it began for the last
   * time.
   */
  began_at: string | null;
  /** Time of the reading, ISO-8601 UTC; null for system alerts. */
  read_at: string | null;
  created_at: string;
  /** IANA time zone of the channel, for times in the sentence. Months and days of usage are in UTC. */
  time_zone: string;
  /** Link to the page about the alert; null without `http.public_url`, and for an alert without a workspace. */
  link: string | null;
  /**
   * Link to the page that acknowledges the alert without another token; null without `http.public_url`, and in a
   * message about the end of the alert.
   */
  acknowledge_link: string | null;
  /** A title for people: who, what, how much. Names in it are inert text. */
  title: string;
  /** At most three lines: figures against the limit, causes, cost. */
  lines: string[];
  /** The title and the lines in one text. */
  summary: string;
}

/**
 * Why an alert is closed: its cause is gone, the figures are final, its month left the alert window, its workspace is
 * no longer read, or the alert is no longer routed to the channel.
 */
export type ClosedBecause = 'gone' | 'settled' | 'left_window' | 'workspace_ended' | 'unrouted';

/**
 * Titles, lines and facts are written from this: a notification that is being built or was read back from JSON. After
 * reading back, its whole numbers are bigints and its names are inert.
 */
export type Facts = Omit<Notification, 'notification_id' | 'title' | 'lines' | 'summary' | 'link' | 'acknowledge_link'>;

/** Evidence of an alert, field by field. Credits are exact integers. */
export interface Evidence {
  threshold: ThresholdEvidence | null;
  /** The forecast of an open period; null if there is none. */
  projection: {
    credits: bigint;
    /** The likely range of the forecast; null if the message was made without a range. */
    low_credits: bigint | null;
    high_credits: bigint | null;
    elapsed_fraction: number;
  } | null;
  /** The tenant's share of the workspace's growth, in percent; null unless both the tenant and the workspace grew. */
  share_of_increase_percent: number | null;
  share_of_workspace_percent: number | null;
  /**
   * The difference between the credits and the compared credits. In an open period, rules about growth or a limit use
   * the forecast instead of the credits to date.
   */
  at_stake_credits: bigint | null;
  at_stake_money: MoneyAtStake | null;
  /** The tenant's daily usage; null for alerts about a workspace and for system alerts. */
  daily_usage: DailyUsage | null;
  /**
   * The change of credits in two parts: the part from more or fewer requests at the old credits per request, and the
   * part from a change of credits per request.
   */
  split: { volume_credits: bigint; intensity_credits: bigint } | null;
  entries: EvidenceEntry[];
  entry_count: number;
  /** The limits of all plans that the usage has exceeded, lowest first. */
  planned_bounds: bigint[];
  predecessor: Predecessor | null;
  /** The tenants of an alert about a workspace; null for others. */
  tenants: TenantsEvidence | null;
  detail: string | null;
}

export interface TenantsEvidence {
  /** At most five tenants with the largest growth since the compared month, largest first. */
  largest: { tenant_id: string; previous_credits: bigint; current_credits: bigint }[];
  /**
   * More than half of the tenants have reached at least this multiple of their compared month; in an open month, by
   * their forecasts. Null without such shared growth.
   */
  common_growth: number | null;
}

export interface Predecessor {
  tenant_id: string;
  /** Credits a day: of the predecessor in its last four weeks, and of the successor since it began. */
  daily_credits: bigint;
  new_daily_credits: bigint;
  last_day: string;
}

export interface MoneyAtStake {
  amount: string;
  amount_minor: bigint;
  currency: string;
}

export interface ThresholdEvidence {
  credits: bigint;
  baseline_credits: bigint;
  baseline_period: string;
  ratio: number;
  min_credits: number;
}

export interface EvidenceEntry {
  entry_id: number;
  run_id: string;
  period: string;
  credits_delta: bigint;
  credits_after: bigint;
}

/** Daily usage of a tenant in a period and the previous one. */
export interface DailyUsage {
  /** The day of a lasting change of the daily rate, `YYYY-MM-DD`; null if there was none. */
  since: string | null;
  /** Credits a day before `since`, or in the whole previous period if there is no `since`; null if unknown. */
  usual_daily_credits: bigint | null;
  /** Credits a day from `since` on, or in the period to date if there is no `since`. */
  recent_daily_credits: bigint | null;
  /** The previous period's credits at the same point; null without a reading. */
  previous_same_point: bigint | null;
  /**
   * Credits of the period to date at the end of each day, and at the newest reading for the last day; null for days
   * without a reading.
   */
  days: { previous: (bigint | null)[]; current: (bigint | null)[] };
}
