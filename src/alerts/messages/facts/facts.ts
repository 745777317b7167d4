import type { Period } from '../../../core/period.ts';
import type { AlertState, Level, RuleName, Severity, ToldEvent } from '../../../core/text/alert-words.ts';
import type { ChangeReason } from '../../figures/change-reason.ts';

export type NotificationType = 'alert.firing' | 'alert.escalated' | 'alert.resolved';

/** A figure of both periods. In JSON these are integers of any size, exact beyond 2^53. */
export interface FigureChange {
  previous: bigint;
  current: bigint;
  change: bigint;
}

/** What a channel delivers, field by field as receivers get it; `schemas/alert-notification.json` describes the same. */
export interface Notification {
  /** `msg_...`; the same on every attempt, so that receivers can drop repeats. */
  notification_id: string;
  type: NotificationType;
  /** What is told in this message, closer than its type. */
  event: ToldEvent;
  /** Rises with each message of this alert to this channel: what has a lower one than is known is old. */
  revision: number;
  episode: number;
  closed_because: ClosedBecause | null;
  alert_id: string;
  rule: RuleName;
  /** What is wrong with our own work, after a colon whose it is: `service`, `channel:on-call`. Null for what usage does. */
  cause: string | null;
  rule_version: number;
  level: Level;
  /** How often the alert has been notified again because it grew. */
  notified_count: number;
  severity: Severity;
  state: AlertState;
  workspace_id: string | null;
  tenant_id: string | null;
  tenant_name: string | null;
  period: Period | null;
  /** The period of the previous figures: the one before, or the same for rules that compare two readings of it. */
  previous_period: Period | null;
  /** `change_percent` has one decimal; null when there is no positive previous figure to divide by. */
  credits: (FigureChange & { change_percent: number | null }) | null;
  requests: FigureChange | null;
  threshold: bigint | null;
  /** Null when the credits did not grow, as in most resolved alerts. */
  reason: ChangeReason | null;
  evidence: Evidence;
  /** The run that brought the figures; null when no run did. */
  run_id: string | null;
  /** Since when the alert has held, or held last, ISO-8601 UTC. */
  began_at: string | null;
  /** When the figures were read, ISO-8601 UTC; null for alerts about ourselves. */
  read_at: string | null;
  created_at: string;
  /** The page about it; null where `http.public_url` is not set. */
  link: string | null;
  /** The page on which somebody says, without another token, that they look after it; null likewise, and for an end. */
  acknowledge_link: string | null;
  /** What happened, for people; names in it are made inert. */
  summary: string;
}

/** Why it is closed: the cause is gone, its month or its workspace is no longer looked at, or the channel takes it no more. */
export type ClosedBecause = 'gone' | 'left_window' | 'workspace_ended' | 'unrouted';

/**
 * What sentences and lists of facts are made of: a notification as it is being built, or read back from its JSON. Then whole
 * numbers are bigints, and names are inert.
 */
export type Facts = Omit<Notification, 'notification_id' | 'summary' | 'link' | 'acknowledge_link'>;

/** What stands behind an alert, field by field as receivers get it. Credits are exact integers. */
export interface Evidence {
  threshold: ThresholdEvidence | null;
  /** Of an open period: the credits it comes to, by the tenant's own past where the rule looks at it, else at the rate so far. */
  projection: {
    credits: bigint;
    /** Between these, by its own past; null where that says nothing. */
    low_credits: bigint | null;
    high_credits: bigint | null;
    elapsed_fraction: number;
  } | null;
  /** The tenant's part of what the workspace as a whole has grown by, in percent; null unless both grew. */
  share_of_increase_percent: number | null;
  share_of_workspace_percent: number | null;
  /** Credits by which the period differs from what it is compared with; of an open one, what that comes to. */
  at_stake_credits: bigint | null;
  at_stake_money: StakeMoney | null;
  /** The tenant's days; null for alerts about the workspace or ourselves. */
  course: Course | null;
  /** The change of credits in two parts: more requests at the old rate, and the change of the rate. */
  split: { volume_credits: bigint; intensity_credits: bigint } | null;
  entries: EvidenceEntry[];
  entry_count: number;
  /** The bounds of all plans that it has gone beyond, the lowest first. */
  planned_bounds: bigint[];
  former_tenant: FormerTenant | null;
  /** Of an alert about a workspace: its tenants; else null. */
  tenants: TenantsEvidence | null;
  detail: string | null;
}

export interface TenantsEvidence {
  /** At most five whose credits grow most beside the month that is compared with, the largest increase first. */
  largest: { tenant_id: string; previous_credits: bigint; current_credits: bigint }[];
  /** By how many times more than half have grown; of an open month what they probably come to. Null where that is not so. */
  common_growth: number | null;
}

export interface FormerTenant {
  tenant_id: string;
  /** Credits a day: what the former one used in its last four weeks, and the new one since its first. */
  daily_credits: bigint;
  new_daily_credits: bigint;
  last_day: string;
}

export interface StakeMoney {
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

/** How a tenant used its credits day by day, in a period and the one before, and what that says; as receivers get it. */
export interface Course {
  /** The day from which on the daily rate was another one, `YYYY-MM-DD`; null when no day stands out. */
  since: string | null;
  /** Credits a day before `since`; without one, over the whole period before. Null when that is not known. */
  usual_daily_credits: bigint | null;
  /** Credits a day from `since` on; without one, over the period so far. */
  recent_daily_credits: bigint | null;
  /** What the period before had come to at the same point; null when nobody looked then. */
  previous_same_point: bigint | null;
  /** Credits used by the end of each day, the last one the newest reading; null for days on which nobody looked. */
  days: { previous: (bigint | null)[]; current: (bigint | null)[] };
}
