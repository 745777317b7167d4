import { HOUR_MS } from '../../core/durations.ts';
import { ageMs } from '../../core/stored-time.ts';
import { LEVEL_RANK, type Level, type NotificationEvent, type Severity } from '../../core/text/alert-words.ts';

/**
 * A channel gets at most one message about an alert at one level in this time. It is slightly less than a day, so that
 * the run at the same hour of the next day may send a message.
 */
const MIN_INTERVAL_PER_LEVEL_MS = 23.5 * HOUR_MS;
/** A system alert that begins `begins` times within `windowMs` is flapping until it has not changed for `steadyMs`. */
const FLAPPING = { begins: 5, windowMs: 6 * HOUR_MS, steadyMs: HOUR_MS };

/**
 * An alert is notified again when its magnitude reaches the next of these multiples of the last notified magnitude. The
 * last multiple applies to all later messages.
 */
const GROWTH_STEPS = [
  { numerator: 3n, denominator: 2n },
  { numerator: 2n, denominator: 1n },
  { numerator: 3n, denominator: 1n },
  { numerator: 5n, denominator: 1n },
] as const;

/** The present condition of an alert. */
export interface CurrentAlert {
  holding: boolean;
  episode: number;
  level: Level;
  severity: Severity;
  magnitude: bigint | null;
  /** True if the magnitude is a bit mask of facts, such as budget steps. Each fact is notified once. */
  isBitMask: boolean;
  acknowledged: boolean;
  /**
   * True for growth below `critical_share`. After the first message, the next one is sent when the alert becomes
   * critical or its figures settle.
   */
  isImmaterial: boolean;
  /** True if a likely alert of this rule rests on a forecast, which the level `happened` only confirms. */
  isFromForecast: boolean;
  /**
   * True if the figures of the alert's month have settled: the alert is a record, and its next message is the last one.
   */
  isFinal: boolean;
  /** True if the last run found the cause gone. If the next run does too, the alert ends. */
  isClearing: boolean;
  /**
   * The times at which a system alert began, latest last, and of its last change, in milliseconds since the epoch; null
   * for alerts about usage.
   */
  system: { begins: readonly number[]; changedMs: number } | null;
}

/** The last message about an alert that a channel received; see table `alert_notified`. */
export interface LastNotification {
  event: NotificationEvent;
  episode: number;
  level: Level;
  severity: Severity;
  /** The number of messages about growth at this level. It selects the next growth step. */
  notifiedCount: number;
  /** The magnitude in the last message. Growth is measured against it. */
  magnitude: bigint | null;
  /** True if the last message did not announce the end of the alert. */
  open: boolean;
  atMs: number;
  /** True if the message was sent on its own, not in a digest. */
  atOnce: boolean;
}

/** The decisions of the earlier steps of the pipeline (route, inhibit, silence) for one alert and one channel. */
export interface ChannelPolicy {
  routed: boolean;
  /** Id of the alert that inhibits this alert; null if none does. */
  inhibitedBy: string | null;
  silence: { id: string; untilMs: number } | null;
  /** Limits of plans that the alert has passed, lowest first. */
  passedLimits: readonly bigint[];
  /** A reminder is due this long after the last message while the alert is not acknowledged; null: never. */
  remindAfterMs: number | null;
  /** Returns the first time from `atMs` on at which reminders are allowed, in milliseconds since the epoch. */
  remindFromMs: (atMs: number) => number;
}

export type NotifyDecision =
  | { event: NotificationEvent; notifiedCount: number }
  /**
   * No message is sent, for this reason. `evaluateAtMs` is the time to decide again; null: decide again only when
   * something changes.
   */
  | { event: null; reason: string; evaluateAtMs: number | null };

/**
 * Decides whether a channel is notified of an alert now, by comparing the alert with the last message. The first check
 * that applies decides.
 */
export function decideNotification(
  alert: CurrentAlert,
  last: LastNotification | null,
  policy: ChannelPolicy,
  nowMs: number,
): NotifyDecision {
  const flapping = alert.system === null ? null : decideFlapping(alert.system, alert.holding, last, nowMs);
  if (flapping?.event === null) return flapping;
  if (alert.isFinal && last !== null && isComplete(alert, last)) return suppress('final');
  if (alert.isFinal && last?.open === true && last.episode === alert.episode) return send('closed');
  if (!alert.holding) return last?.open === true ? send('closed') : suppress('not_notified');
  if (!policy.routed) return last?.open === true ? send('closed') : suppress('unrouted');
  if (policy.inhibitedBy !== null) return suppress(`inhibited:${policy.inhibitedBy}`);
  if (policy.silence !== null) return suppress(`silence:${policy.silence.id}`, policy.silence.untilMs);
  if (flapping !== null) return flapping;
  const change = changeSince(alert, last, policy);
  if (change === null) return decideReminder(alert, last, policy, nowMs);
  if (change.isProgress === true && last !== null && staysImmaterial(alert, last)) return suppress('immaterial');
  if (alert.isClearing) return suppress('clearing');
  const waitMs = alert.system !== null || change.isUrgent ? 0 : remainingIntervalMs(change.event, alert, last, nowMs);
  return waitMs > 0 ? suppress('daily', nowMs + waitMs) : { event: change.event, notifiedCount: change.notifiedCount };
}

/**
 * Reports whether a channel needs no message about settled figures: it already got that message, or the limit had
 * already been passed at the first sync (`baseline`).
 */
function isComplete({ episode }: CurrentAlert, last: LastNotification): boolean {
  const isKnown = last.event === 'baseline' ? last.level !== 'likely' : last.level === 'settled';
  return isKnown && last.episode === episode;
}

/** Reports whether the last message about growth was a warning, and the growth is still too small to be critical. */
function staysImmaterial({ isImmaterial }: CurrentAlert, { event, severity }: LastNotification): boolean {
  return isImmaterial && severity === 'warning' && event !== 'baseline';
}

/** A change since the last message, and the event that reports it. */
interface Change {
  event: NotificationEvent;
  notifiedCount: number;
  /** True if the change is sent at once, even if a message of the same level was sent less than a day ago. */
  isUrgent?: boolean;
  /**
   * True if the forecast has come true or the credits have grown, without passing a plan: the last message is still
   * right.
   */
  isProgress?: boolean;
}

function changeSince(
  alert: CurrentAlert,
  last: LastNotification | null,
  { passedLimits }: ChannelPolicy,
): Change | null {
  if (last === null || last.episode < alert.episode || (!last.open && last.event !== 'baseline')) {
    const again = last !== null && last.event !== 'baseline';
    return { event: again ? 'again' : 'opened', notifiedCount: 0 };
  }
  const notified = last.magnitude;
  const passesPlan = notified !== null && passedLimits.some((limit) => notified <= limit);
  const levelChange = LEVEL_RANK[alert.level] - LEVEL_RANK[last.level];
  if (levelChange > 0) return { event: 'worse', notifiedCount: 0, isProgress: alert.isFromForecast && !passesPlan };
  if (levelChange < 0) return { event: 'eased', notifiedCount: 0 };
  // A change to critical is sent at once.
  if (alert.severity === 'critical' && last.severity === 'warning') {
    return { event: 'worse', notifiedCount: 0, isUrgent: true };
  }
  if (alert.magnitude === null) return null;
  if (passesPlan) return { event: 'grown', notifiedCount: last.notifiedCount + 1, isUrgent: true };
  return hasGrown(alert, last) ? { event: 'grown', notifiedCount: last.notifiedCount + 1, isProgress: true } : null;
}

function hasGrown({ magnitude, isBitMask }: CurrentAlert, last: LastNotification): boolean {
  if (magnitude === null) return false;
  if (isBitMask) return (magnitude & ~(last.magnitude ?? 0n)) !== 0n;
  const step = GROWTH_STEPS[Math.min(last.notifiedCount, GROWTH_STEPS.length - 1)];
  if (step === undefined || last.magnitude === null || last.magnitude <= 0n) return false;
  return magnitude * step.denominator >= last.magnitude * step.numerator;
}

/**
 * Returns how long (ms) the message must wait because a message of the same level was sent less than a day ago. A
 * message in a digest causes no wait. Messages of another level do not wait, except `eased`, which is not urgent.
 */
function remainingIntervalMs(
  event: NotificationEvent,
  { level }: CurrentAlert,
  last: LastNotification | null,
  nowMs: number,
): number {
  if (last === null || !last.atOnce || last.event === 'baseline') return 0;
  if (last.level !== level && event !== 'eased') return 0;
  const sinceMs = ageMs(last.atMs, nowMs);
  return sinceMs === null ? 0 : Math.max(0, MIN_INTERVAL_PER_LEVEL_MS - sinceMs);
}

function decideReminder(
  { acknowledged }: CurrentAlert,
  last: LastNotification | null,
  { remindAfterMs, remindFromMs }: ChannelPolicy,
  nowMs: number,
): NotifyDecision {
  if (acknowledged) return suppress('acknowledged');
  if (remindAfterMs === null || last === null || !last.open) return suppress('notified');
  const sinceMs = ageMs(last.atMs, nowMs) ?? 0;
  const dueMs = remindFromMs(Math.max(nowMs, nowMs + remindAfterMs - sinceMs));
  return dueMs <= nowMs ? { event: 'reminder', notifiedCount: last.notifiedCount } : suppress('notified', dueMs);
}

/**
 * Decides about a system alert that begins and ends repeatedly: it is notified once, and again when it has been steady
 * for an hour. Null if the alert does not flap.
 */
function decideFlapping(
  system: NonNullable<CurrentAlert['system']>,
  holding: boolean,
  last: LastNotification | null,
  nowMs: number,
): NotifyDecision | null {
  const recent = system.begins.filter((beganMs) => (ageMs(beganMs, nowMs) ?? FLAPPING.windowMs) < FLAPPING.windowMs);
  const wasNotified = last?.event === 'flapping';
  const steadyMs = ageMs(system.changedMs, nowMs) ?? FLAPPING.steadyMs;
  if (steadyMs >= FLAPPING.steadyMs) return wasNotified && holding ? send('again') : null;
  if (wasNotified) return suppress('flapping', nowMs + FLAPPING.steadyMs - steadyMs);
  return recent.length >= FLAPPING.begins && holding ? send('flapping') : null;
}

function send(event: NotificationEvent): NotifyDecision {
  return { event, notifiedCount: 0 };
}

function suppress(reason: string, evaluateAtMs: number | null = null): NotifyDecision {
  return { event: null, reason, evaluateAtMs };
}
