import { isoTime } from '../../core/clock.ts';
import { ageMs } from '../../core/stored-time.ts';
import {
  type AlertState,
  LEVEL_RANK,
  type Level,
  OPEN_ALERT_STATES,
  type Severity,
} from '../../core/text/alert-words.ts';
import type { Finding, Judgement } from '../rules/judgement.ts';

export type AlertChangeKind =
  | 'pending'
  | 'fired'
  | 'escalated'
  | 'eased'
  | 'grown'
  | 'notified'
  | 'acknowledged'
  | 'resolved'
  | 'expired';

/** The condition of an alert, independent of notifications. */
export interface AlertStatus {
  state: AlertState;
  level: Level;
  severity: Severity;
  /** The present size of the condition. If it is a bit mask of facts: all that held since the alert fired. */
  magnitude: bigint | null;
  /** How often the condition has begun to hold. */
  episode: number;
  /** When the condition began to hold last, ISO-8601 UTC; null if it never did. */
  beganAt: string | null;
  pendingSinceMs: number | null;
  /** The run that first found that the condition no longer holds; null while it holds. */
  clearRunKey: number | null;
}

/** The time and run of a rule's result, and what else decides the alert's next state. */
export interface LifecycleContext {
  nowMs: number;
  runKey: number | null;
  /** True in the first sync of a workspace. Its alerts fire without confirmation, because what they report is old. */
  seeding: boolean;
  /** Reports whether an alert that is confirmed stays pending, to be notified together with others. */
  waits: (level: Level) => boolean;
}

/** An alert's status after a rule's result. */
export interface AlertAdvance {
  status: AlertStatus;
  /** The kind of state change; null if there is none. */
  change: AlertChangeKind | null;
}

const NEVER: AlertStatus = {
  state: 'expired',
  level: 'likely',
  severity: 'warning',
  magnitude: null,
  episode: 0,
  beganAt: null,
  pendingSinceMs: null,
  clearRunKey: null,
};

/**
 * Returns an alert's status after a result of its rule. A null status means that the alert does not exist yet. Returns
 * null if there is no open alert and none begins. A second result in the same run changes nothing.
 */
export function advanceAlert(
  status: AlertStatus | null,
  judgement: Judgement,
  context: LifecycleContext,
): AlertAdvance | null {
  const open = status !== null && OPEN_ALERT_STATES.includes(status.state);
  if (!open) return judgement.verdict === 'holds' ? begin(status ?? NEVER, judgement.finding, context) : null;
  if (status.state === 'pending') return advancePending(status, judgement, context);
  if (judgement.verdict === 'holds') return advanceFiring(status, judgement.finding);
  if (judgement.verdict === 'between') {
    const { magnitude } = judgement;
    const isLess =
      status.level === 'likely' && magnitude !== null && status.magnitude !== null && magnitude < status.magnitude;
    return unchanged({ ...status, magnitude: isLess ? magnitude : status.magnitude, clearRunKey: null });
  }
  if (judgement.atOnce || (status.clearRunKey !== null && status.clearRunKey !== context.runKey)) {
    return { status: { ...status, state: 'resolved', clearRunKey: null }, change: 'resolved' };
  }
  return unchanged({ ...status, clearRunKey: context.runKey });
}

function begin(status: AlertStatus, finding: Finding, context: LifecycleContext): AlertAdvance {
  if (context.seeding || finding.confirmAfterMs === null) return fired(status, finding, context);
  const { level, severity, magnitude } = finding;
  const pending = { ...status, state: 'pending' as const, level, severity, magnitude, clearRunKey: null };
  return { status: { ...pending, pendingSinceMs: context.nowMs }, change: 'pending' };
}

function advancePending(status: AlertStatus, judgement: Judgement, context: LifecycleContext): AlertAdvance {
  if (judgement.verdict === 'between' && judgement.inconclusive) return unchanged(status);
  if (judgement.verdict !== 'holds') {
    // An alert that fired in an earlier episode is resolved again, as before this one.
    const state = status.episode > 0 ? ('resolved' as const) : ('expired' as const);
    return { status: { ...status, state, pendingSinceMs: null }, change: 'expired' };
  }
  const { finding } = judgement;
  const { level, severity, magnitude } = finding;
  const waitedMs = ageMs(status.pendingSinceMs, context.nowMs);
  const isConfirmed = (waitedMs ?? 0) >= (finding.confirmAfterMs ?? 0);
  if (isConfirmed && !context.waits(level)) return fired(status, finding, context);
  const pendingSinceMs = waitedMs === null ? context.nowMs : status.pendingSinceMs;
  return unchanged({ ...status, level, severity, magnitude, pendingSinceMs });
}

function fired(
  status: AlertStatus,
  { level, severity, magnitude }: Finding,
  { nowMs }: LifecycleContext,
): AlertAdvance {
  const began = { episode: status.episode + 1, beganAt: isoTime(nowMs), pendingSinceMs: null, clearRunKey: null };
  return { status: { ...began, state: 'firing', level, severity, magnitude }, change: 'fired' };
}

function advanceFiring(status: AlertStatus, finding: Finding): AlertAdvance {
  const { level, severity, isBitMask } = finding;
  const steps = LEVEL_RANK[level] - LEVEL_RANK[status.level];
  // A settled alert stays settled, even if a clock was set back.
  if (steps < 0 && status.level === 'settled') return unchanged({ ...status, clearRunKey: null });
  const magnitude =
    isBitMask && finding.magnitude !== null ? finding.magnitude | (status.magnitude ?? 0n) : finding.magnitude;
  const now = { ...status, level, severity, magnitude: magnitude ?? status.magnitude, clearRunKey: null };
  if (steps === 0) return unchanged(now);
  return steps > 0 ? { status: { ...now, state: 'firing' }, change: 'escalated' } : { status: now, change: 'eased' };
}

function unchanged(status: AlertStatus): AlertAdvance {
  return { status, change: null };
}
