import type { Period } from '../../core/period.ts';
import type { AlertState, ToldEvent } from '../../core/text/alert-words.ts';
import { stringifyExact } from '../../core/text/exact-json.ts';
import { inertJson } from '../../core/text/inert-text.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { type ChangeReason, changeReason } from '../measures/change-reason.ts';
import type { Level, RuleName, Severity, UsageFigures } from '../measures/judgement.ts';
import type { Observation } from '../measures/observation.ts';
import { percentOf } from '../measures/percent.ts';
import { usageRule } from '../rules/table.ts';
import type { Evidence } from '../wording/evidence.ts';
import type { ClosedBecause } from '../wording/facts-told.ts';
import { summaryLine } from './summary.ts';

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
  /** How often the alert has begun to hold. */
  episode: number;
  /** Why it is closed: the cause is gone, its month is no longer looked at, or the channel takes it no more. */
  closed_because: ClosedBecause | null;
  alert_id: string;
  rule: RuleName;
  /** What is wrong with our own work, after a colon whose it is: `service`, `channel:on-call`. Null for what usage does. */
  cause: string | null;
  rule_version: number;
  level: Level;
  /** How often the alert has been notified again because it grew. */
  told_times: number;
  severity: Severity;
  state: AlertState;
  /** Null for an alert about the ledger as a whole. */
  workspace_id: string | null;
  /** Null for alerts about the workspace, or about ourselves. */
  tenant_id: string | null;
  /** What people call the tenant, as it was imported; null when it has no name. */
  tenant_name: string | null;
  /** Null for alerts about ourselves. */
  period: Period | null;
  /** The period of the previous figures: the one before, or the same for rules that compare two readings of it. */
  previous_period: Period | null;
  /** `change_percent` has one decimal; null when there is no positive previous figure to divide by. */
  credits: (FigureChange & { change_percent: number | null }) | null;
  requests: FigureChange | null;
  /** Credits. */
  threshold: bigint | null;
  /** Null when the credits did not grow, as in most resolved alerts. */
  reason: ChangeReason | null;
  evidence: Evidence;
  /** The run that brought the figures; null when no run did. */
  run_id: string | null;
  /** Since when the alert has held, or held last, ISO-8601 UTC. */
  began_at: string | null;
  /** ISO-8601 UTC. */
  created_at: string;
  /** The page about it; null where `http.public_url` is not set. */
  link: string | null;
  /** What happened, for people; names in it are made inert. */
  summary: string;
}

/** The facts of a notification; everything else in it is derived from them. */
export interface NotificationInput {
  notificationId: string;
  type: NotificationType;
  event: ToldEvent;
  revision: number;
  episode: number;
  closedBecause: ClosedBecause | null;
  alertId: string;
  rule: RuleName;
  cause: string | null;
  ruleVersion: number;
  level: Level;
  toldTimes: number;
  severity: Severity;
  state: AlertState;
  workspaceId: string | null;
  tenantId: string | null;
  tenantName: string | null;
  period: Period | null;
  previousPeriod: Period | null;
  previous: UsageFigures | null;
  current: UsageFigures | null;
  /** Credits. */
  threshold: bigint | null;
  evidence: Evidence;
  runId: string | null;
  beganAt: string | null;
  /** ISO-8601 UTC. */
  createdAt: string;
  /** Where people reach the pages; null where nobody has said. */
  publicUrl: string | null;
}

/** Completes the facts with the changes, what drove them and the sentence that sums them up. */
export function buildNotification(input: NotificationInput): Notification {
  const { current } = input;
  // A tenant without a record of the period before used nothing in it.
  const previous = input.previous ?? (current === null ? null : { credits: 0n, requests: 0n });
  const both = previous !== null && current !== null;
  const facts = {
    notification_id: input.notificationId,
    type: input.type,
    event: input.event,
    revision: input.revision,
    episode: input.episode,
    closed_because: input.closedBecause,
    alert_id: input.alertId,
    rule: input.rule,
    cause: input.cause,
    rule_version: input.ruleVersion,
    level: input.level,
    told_times: input.toldTimes,
    severity: input.severity,
    state: input.state,
    workspace_id: input.workspaceId,
    tenant_id: input.tenantId,
    tenant_name: input.tenantName,
    period: input.period,
    previous_period: input.previousPeriod,
    credits: both
      ? {
          ...figureChange(previous.credits, current.credits),
          change_percent: percentOf(current.credits - previous.credits, previous.credits),
        }
      : null,
    requests: both ? figureChange(previous.requests, current.requests) : null,
    threshold: input.threshold,
    reason: both ? changeReason(previous, current) : null,
    evidence: input.evidence,
    run_id: input.runId,
    began_at: input.beganAt,
    created_at: input.createdAt,
    link: linkTo(input),
  };
  return { ...facts, summary: summaryLine(facts) };
}

/** The page of the tenant, or of its workspace. */
function linkTo({ publicUrl, workspaceId, tenantId, period }: NotificationInput): string | null {
  if (publicUrl === null || workspaceId === null) return null;
  const query = new URLSearchParams({
    workspace: workspaceId,
    ...(period === null ? {} : { period }),
    ...(tenantId === null ? {} : { tenant: tenantId }),
  });
  return `${publicUrl}/report${tenantId === null ? '' : '/tenant'}?${query}`;
}

/**
 * The JSON text that is stored in the outbox and sent byte for byte on every attempt. Identifiers parse back exactly;
 * in the text itself control, bidi and invisible characters are escaped, so that showing it raw does no harm.
 */
export function renderPayload(notification: Notification): string {
  return inertJson(stringifyExact(notification));
}

function figureChange(previous: bigint, current: bigint): FigureChange {
  return { previous, current, change: current - previous };
}

/** The period of the figures that a rule compares with; of a threshold that was built from several the latest: which they are stands with it. */
export function previousPeriodOf({
  rule,
  periodKey,
  built,
}: Pick<Observation, 'rule' | 'periodKey' | 'built'>): Period | null {
  const compares = usageRule(rule);
  if (periodKey === null || compares === null) return null;
  if (compares.ofReadings === true) return periodOfKey(periodKey);
  if (built?.periods[0] !== undefined) return built.periods[0];
  return periodOfKey(periodKey - (compares.monthsBack ?? 1));
}
