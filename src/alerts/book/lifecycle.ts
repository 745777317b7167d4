import { ageMs } from '../../core/stored-time.ts';
import { type AlertState, OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import { type Finding, type Judgement, STAGE_RANK, type Stage } from '../rules/rule.ts';

export type AlertChangeKind = 'pending' | 'fired' | 'escalated' | 'grown' | 'acknowledged' | 'resolved' | 'expired';

/** Where an alert stands. */
export interface AlertStatus {
  state: AlertState;
  stage: Stage;
  /** How often it was notified again because it grew, since it fired. */
  level: number;
  /** The size that it was last notified with. */
  notifiedMeasure: bigint | null;
  pendingSinceMs: number | null;
  /** The run that found the cause gone first. */
  clearRunKey: number | null;
}

export interface Moment {
  nowMs: number;
  runKey: number | null;
  /** The first sync of a workspace: what it finds has been there for long, so nothing waits to be confirmed. */
  seeding: boolean;
  /** Somebody was told of this alert at this stage less than a day ago, so that it has to wait with what it says. */
  waits: (stage: Stage) => boolean;
}

export interface Advance {
  status: AlertStatus;
  /** What happened; null when nothing did that anybody should read of. */
  change: AlertChangeKind | null;
}

/** Each time an alert grew, the next news is a larger multiple of what was last notified; the last one repeats. */
const LEVELS = [
  { numerator: 3n, denominator: 2n },
  { numerator: 2n, denominator: 1n },
  { numerator: 3n, denominator: 1n },
  { numerator: 5n, denominator: 1n },
] as const;

/**
 * Moves an alert by what its rule says now; `null` is an alert that does not exist. Judged twice in one run, the second
 * time changes nothing. Returns null when there is no alert and none begins.
 */
export function advance(status: AlertStatus | null, judgement: Judgement, moment: Moment): Advance | null {
  const open = status !== null && OPEN_ALERT_STATES.includes(status.state);
  if (!open) return judgement.verdict === 'holds' ? begin(judgement.finding, moment) : null;
  if (status.state === 'pending') return advancePending(status, judgement, moment);
  if (judgement.verdict === 'holds') return advanceFiring(status, judgement.finding, moment);
  if (judgement.verdict === 'between') return unchanged({ ...status, clearRunKey: null });
  if (judgement.atOnce || (status.clearRunKey !== null && status.clearRunKey !== moment.runKey)) {
    return { status: { ...status, state: 'resolved', clearRunKey: null }, change: 'resolved' };
  }
  return unchanged({ ...status, clearRunKey: moment.runKey });
}

function begin(finding: Finding, { nowMs, seeding, waits }: Moment): Advance {
  if (seeding || (finding.confirmAfterMs === null && !waits(finding.stage))) return fired(finding);
  const status = { state: 'pending' as const, stage: finding.stage, level: 0, notifiedMeasure: null };
  return { status: { ...status, pendingSinceMs: nowMs, clearRunKey: null }, change: 'pending' };
}

function advancePending(status: AlertStatus, judgement: Judgement, { nowMs, waits }: Moment): Advance {
  if (judgement.verdict === 'between' && judgement.wavers) return unchanged(status);
  if (judgement.verdict !== 'holds') {
    return { status: { ...status, state: 'expired', pendingSinceMs: null }, change: 'expired' };
  }
  const { finding } = judgement;
  const waitedMs = ageMs(status.pendingSinceMs, nowMs);
  const isConfirmed = (waitedMs ?? 0) >= (finding.confirmAfterMs ?? 0);
  if (isConfirmed && !waits(finding.stage)) return fired(finding);
  return unchanged({
    ...status,
    stage: finding.stage,
    pendingSinceMs: waitedMs === null ? nowMs : status.pendingSinceMs,
  });
}

function fired(finding: Finding): Advance {
  const status = { state: 'firing' as const, stage: finding.stage, level: 0, notifiedMeasure: finding.measure };
  return { status: { ...status, pendingSinceMs: null, clearRunKey: null }, change: 'fired' };
}

function advanceFiring(status: AlertStatus, finding: Finding, { waits }: Moment): Advance {
  const { stage, measure } = finding;
  if (STAGE_RANK[stage] > STAGE_RANK[status.stage] && !waits(stage)) {
    const higher = { ...status, state: 'firing' as const, stage, level: 0, notifiedMeasure: measure };
    return { status: { ...higher, clearRunKey: null }, change: 'escalated' };
  }
  // Only sizes of one kind compare: a pace's measure is a projection.
  if (stage === status.stage && measure !== null && hasGrown(status, finding) && !waits(stage)) {
    return { status: grown(status, finding), change: 'grown' };
  }
  return unchanged({ ...status, clearRunKey: null });
}

/** The alert as it is when it has been told again because it grew. */
function grown(status: AlertStatus, { measure, isSet }: Finding): AlertStatus {
  const notifiedMeasure = isSet ? (status.notifiedMeasure ?? 0n) | (measure ?? 0n) : measure;
  return { ...status, state: 'firing', level: status.level + 1, notifiedMeasure, clearRunKey: null };
}

function hasGrown({ level, notifiedMeasure }: AlertStatus, { measure, isSet }: Finding): boolean {
  if (measure === null) return false;
  if (isSet) return (measure & ~(notifiedMeasure ?? 0n)) !== 0n;
  const next = LEVELS[Math.min(level, LEVELS.length - 1)];
  if (next === undefined || notifiedMeasure === null || notifiedMeasure <= 0n) return false;
  return measure * next.denominator >= notifiedMeasure * next.numerator;
}

function unchanged(status: AlertStatus): Advance {
  return { status, change: null };
}
