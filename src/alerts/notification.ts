import { stringify } from 'lossless-json';
import { inertJson, inertText } from '../core/inert-text.ts';
import type { Period } from '../core/period.ts';
import { type ChangeReason, changeReason } from './rules/change-reason.ts';
import type { JumpStage, UsageFigures } from './rules/jump.ts';

export type NotificationType = 'alert.firing' | 'alert.escalated' | 'alert.resolved';
export type AlertState = 'pending' | 'firing' | 'acknowledged' | 'resolved' | 'expired';
export type Severity = 'warning' | 'critical';

/** A figure of both periods. In JSON these are integers of any size, exact beyond 2^53. */
export interface FigureChange {
  previous: bigint;
  current: bigint;
  change: bigint;
}

/** What a channel delivers, field by field as receivers get it. */
export interface Notification {
  /** `msg_...`; the same on every attempt, so that receivers can drop repeats. */
  notification_id: string;
  type: NotificationType;
  alert_id: string;
  rule: 'jump';
  rule_version: number;
  stage: JumpStage;
  severity: Severity;
  state: AlertState;
  workspace_id: string;
  tenant_id: string;
  period: Period;
  previous_period: Period;
  /** `change_percent` has one decimal; null when there is no positive previous figure to divide by. */
  credits: FigureChange & { change_percent: number | null };
  requests: FigureChange;
  /** Credits. */
  threshold: bigint;
  /** Null when the credits did not grow, as in most resolved alerts. */
  reason: ChangeReason | null;
  /** The run that brought the figures. */
  run_id: string;
  /** ISO-8601 UTC. */
  created_at: string;
  /** One sentence for people; names in it are made inert. */
  summary: string;
}

/** The facts of a notification; everything else in it is derived from them. */
export interface NotificationInput {
  notificationId: string;
  type: NotificationType;
  alertId: string;
  ruleVersion: number;
  stage: JumpStage;
  severity: Severity;
  state: AlertState;
  workspaceId: string;
  tenantId: string;
  period: Period;
  previousPeriod: Period;
  previous: UsageFigures;
  current: UsageFigures;
  /** Credits. */
  threshold: bigint;
  runId: string;
  /** ISO-8601 UTC. */
  createdAt: string;
}

/** Completes the facts of a jump with the changes, what drove them and the sentence that sums them up. */
export function buildNotification(input: NotificationInput): Notification {
  const { previous, current } = input;
  const facts = {
    notification_id: input.notificationId,
    type: input.type,
    alert_id: input.alertId,
    rule: 'jump' as const,
    rule_version: input.ruleVersion,
    stage: input.stage,
    severity: input.severity,
    state: input.state,
    workspace_id: input.workspaceId,
    tenant_id: input.tenantId,
    period: input.period,
    previous_period: input.previousPeriod,
    credits: {
      ...figureChange(previous.credits, current.credits),
      change_percent: changePercent(previous.credits, current.credits),
    },
    requests: figureChange(previous.requests, current.requests),
    threshold: input.threshold,
    reason: changeReason(previous, current),
    run_id: input.runId,
    created_at: input.createdAt,
  };
  return { ...facts, summary: summaryLine(facts) };
}

/**
 * The JSON text that is stored in the outbox and sent byte for byte on every attempt. Identifiers parse back exactly;
 * in the text itself control, bidi and invisible characters are escaped, so that showing it raw does no harm.
 */
export function renderPayload(notification: Notification): string {
  return inertJson(stringify(notification) ?? '');
}

/** One sentence for people: who, how much, against what, and what drove it. Safe for a terminal whatever the names. */
export function summaryLine(facts: Omit<Notification, 'summary'>): string {
  const { credits } = facts;
  const who = `tenant ${quoted(facts.tenant_id)} in workspace ${quoted(facts.workspace_id)}`;
  const before = `${grouped(credits.previous)} in ${facts.previous_period}`;
  if (facts.type === 'alert.resolved') {
    return `Jump resolved: ${who} is at ${grouped(credits.current)} credits in ${facts.period}, below the threshold of ${grouped(facts.threshold)} (${before}).`;
  }
  const title = facts.type === 'alert.escalated' ? `Jump is now ${facts.stage}` : `Jump, ${facts.stage}`;
  const used = facts.stage === 'final' ? 'used' : 'has so far used';
  const driver = facts.reason === null ? '' : `; ${DRIVERS[facts.reason]}`;
  return `${title}: ${who} ${used} ${grouped(credits.current)} credits in ${facts.period}, ${direction(credits.change_percent)} ${before} (threshold ${grouped(facts.threshold)}${driver}).`;
}

const DRIVERS: Record<ChangeReason, string> = {
  volume: 'more requests',
  intensity: 'more credits per request',
  mixed: 'more requests and more credits per request',
};

/** Longer names are cut in the sentence; the payload's own fields carry them in full. */
const NAME_CHARACTERS = 80;

function quoted(name: string): string {
  const characters = Array.from(name);
  const shown = characters.length > NAME_CHARACTERS ? `${characters.slice(0, NAME_CHARACTERS).join('')}…` : name;
  return `"${inertText(shown).replaceAll('"', '\\"')}"`;
}

function grouped(value: bigint | number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}

function direction(percent: number | null): string {
  if (percent === null) return 'from';
  return percent < 0 ? `down ${grouped(-percent)}% from` : `up ${grouped(percent)}% from`;
}

function figureChange(previous: bigint, current: bigint): FigureChange {
  return { previous, current, change: current - previous };
}

/** Rounded half away from zero to one decimal, in integers until the last division. */
function changePercent(previous: bigint, current: bigint): number | null {
  if (previous <= 0n) return null;
  const change = current - previous;
  const size = change < 0n ? -change : change;
  const tenths = Number((size * 2000n + previous) / (2n * previous)) / 10;
  return change < 0n && tenths > 0 ? -tenths : tenths;
}
