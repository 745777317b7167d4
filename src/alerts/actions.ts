import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { systemRandomness } from '../core/randomness.ts';
import { ALWAYS, type TimeIntervals } from '../core/time-intervals.ts';
import { requireNotRetired } from '../ledger/journal/retired-workspaces.ts';
import { requireWorkspace } from '../ledger/journal/unknown-workspace.ts';
import type { LedgerDb } from '../ledger/store/ledger-db.ts';
import { alertFeedback, alerts, alertTransitions, silences } from '../ledger/store/schema/alert-tables.ts';
import { and, desc, eq, gt, isNull, query, sql } from '../ledger/store/schema/drizzle.ts';
import { scheduleNewDecisions } from './outbox/evaluate-due.ts';
import { requireAlerts } from './state/alert-store.ts';
import type { FeedbackRequest } from './state/feedback.ts';

/** A person's request to acknowledge an alert. */
export interface AcknowledgeRequest {
  /** The id of an alert, or the id of a message, which stands for all of its alerts. */
  alertId: string;
  by: string;
  note: string | null;
  nowMs: number;
}

/**
 * A person's request to add a silence or a plan. In the patterns `rule`, `tenant` and `period`, `*` matches anything.
 */
export interface SilenceRequest {
  kind: 'silence' | 'plan';
  /** A null workspace means every workspace. */
  workspaceId: string | null;
  rule: string;
  tenant: string;
  period: string;
  /** A plan covers credits up to this figure; null is no limit. */
  upToCredits: bigint | null;
  beginsMs?: number | null;
  untilMs: number;
  times?: TimeIntervals;
  reason: string;
  by: string;
  nowMs: number;
}

/**
 * Acknowledges firing alerts. They are notified again only at a higher level, after growth, or when they end. Returns
 * the ids of the alerts that were not acknowledged before. Throws `unknown_alert`, `alert_not_firing` if none fires, or
 * `workspace_ended`.
 */
export function acknowledgeAlert(connection: LedgerDb, request: AcknowledgeRequest): string[] {
  const { alertId, by, note, nowMs } = request;
  return connection
    .transaction(() => {
      const known = alertsHere(connection, alertId);
      const firing = known.filter(({ state }) => state === 'firing');
      if (firing.length === 0) {
        const states = [...new Set(known.map(({ state }) => state))].join(' or ');
        throw new AppError('alert_not_firing', `alert ${JSON.stringify(alertId)} is ${states}`, {
          hint: 'only an alert that fires can be acknowledged',
        });
      }
      for (const alert of firing) acknowledge(connection, alert, { by, note, nowMs });
      return firing.map((alert) => alert.alertId);
    })
    .immediate();
}

/** Returns the alerts with an id. Throws `workspace_ended` for a retired workspace: nobody would see the change. */
function alertsHere(connection: LedgerDb, alertId: string): ReturnType<typeof requireAlerts> {
  const known = requireAlerts(connection, alertId);
  for (const workspaceKey of new Set(known.map((alert) => alert.workspaceKey)))
    requireNotRetired(connection, workspaceKey);
  return known;
}

function acknowledge(
  connection: LedgerDb,
  alert: ReturnType<typeof requireAlerts>[number],
  { by, note, nowMs }: Pick<AcknowledgeRequest, 'by' | 'note' | 'nowMs'>,
): void {
  const db = query(connection);
  const { alertKey, level, currentCredits } = alert;
  const change = { state: 'acknowledged' as const, revision: alert.revision + 1 };
  const at = isoTime(nowMs);
  db.update(alerts)
    .set({ ...change, lastChangedAt: at })
    .where(eq(alerts.alertKey, alertKey))
    .run();
  db.insert(alertTransitions)
    .values({
      ...change,
      change: 'acknowledged',
      alertKey,
      level,
      currentCredits,
      actor: by,
      at,
      note,
      silent: 1,
      silentBecause: 'quiet',
    })
    .run();
}

/**
 * Labels an alert, or all alerts of a message; the last label counts. An alert labelled `false` is acknowledged and
 * leaves the list. A label that equals the last one is not recorded again. Returns the ids of the alerts. Throws
 * `unknown_alert` or `workspace_ended`.
 */
export function recordFeedback(connection: LedgerDb, request: FeedbackRequest): string[] {
  const { alertId, label, note, by, nowMs } = request;
  return connection
    .transaction(() => {
      const known = alertsHere(connection, alertId);
      for (const alert of known) {
        const last = lastFeedback(connection, alert.alertKey);
        const isRepeated = last?.label === label && last.note === note && last.actor === by;
        const feedback = { alertKey: alert.alertKey, label, note, actor: by, at: isoTime(nowMs) };
        if (!isRepeated) query(connection).insert(alertFeedback).values(feedback).run();
        if (label === 'false' && alert.state === 'firing') acknowledge(connection, alert, { by, note, nowMs });
      }
      return known.map((alert) => alert.alertId);
    })
    .immediate();
}

function lastFeedback(connection: LedgerDb, alertKey: number): typeof alertFeedback.$inferSelect | undefined {
  return query(connection)
    .select()
    .from(alertFeedback)
    .where(eq(alertFeedback.alertKey, alertKey))
    .orderBy(desc(alertFeedback.feedbackKey))
    .get();
}

/**
 * Adds a silence or plan for the alerts that match the patterns; returns its id. If the same person has added an equal
 * one that was not ended, returns the id of that one and adds none. Throws `unknown_workspace` or `workspace_ended`.
 */
export function addSilence(connection: LedgerDb, request: SilenceRequest, randomness = systemRandomness): string {
  const { workspaceId } = request;
  const workspace =
    workspaceId === null ? null : requireWorkspace(connection, workspaceId, 'sync it first, or leave --workspace out');
  requireNotRetired(connection, workspace?.workspaceKey ?? null);
  const { kind, rule, tenant, period, upToCredits, beginsMs = null, times = ALWAYS, reason, by } = request;
  const { weekdays, hours, daysOfMonth, timeZone } = times;
  const workspaceKey = workspace?.workspaceKey ?? null;
  const silence = {
    kind,
    workspaceKey,
    rule,
    tenant,
    period,
    upToCredits,
    reason,
    beginsAt: beginsMs === null ? null : isoTime(beginsMs),
    weekdays,
    hours,
    daysOfMonth,
    timeZone,
    until: isoTime(request.untilMs),
    createdBy: by,
  };
  return connection
    .transaction(() => {
      const known = equalSilence(connection, silence);
      if (known !== null) return known;
      const silenceId = `${kind}_${randomness.bytes(6).toString('hex')}`;
      query(connection)
        .insert(silences)
        .values({ ...silence, silenceId, createdAt: isoTime(request.nowMs) })
        .run();
      scheduleNewDecisions(connection, workspaceKey, request.nowMs);
      return silenceId;
    })
    .immediate();
}

/** Returns the id of a silence that was not ended and has the same values; null if there is none. */
function equalSilence(connection: LedgerDb, values: Partial<typeof silences.$inferInsert>): string | null {
  const isEqual = Object.entries(values).map(
    ([name, value]) => sql`${silences[name as keyof typeof values]} IS ${value}`,
  );
  const known = query(connection)
    .select({ silenceId: silences.silenceId })
    .from(silences)
    .where(and(isNull(silences.endedAt), ...isEqual))
    .get();
  return known?.silenceId ?? null;
}

/**
 * Ends a silence or a plan before its time. Does nothing if the same person ended it already. Throws `unknown_silence`
 * if there is none with this id that is still active.
 */
export function endSilence(
  connection: LedgerDb,
  { silenceId, by, nowMs }: { silenceId: string; by: string; nowMs: number },
): void {
  const at = isoTime(nowMs);
  const isInForce = and(eq(silences.silenceId, silenceId), isNull(silences.endedAt), gt(silences.until, at));
  connection
    .transaction(() => {
      const ended = { endedAt: at, endedBy: by };
      if (query(connection).update(silences).set(ended).where(isInForce).run().changes === 0) {
        const isEndedByActor = and(eq(silences.silenceId, silenceId), eq(silences.endedBy, by));
        if (query(connection).select().from(silences).where(isEndedByActor).get() !== undefined) return;
        throw new AppError('unknown_silence', `no silence or plan ${JSON.stringify(silenceId)} is active`, {
          hint: 'list the active ones with `usage-ledger alerts silences`',
        });
      }
      scheduleNewDecisions(connection, null, nowMs);
    })
    .immediate();
}
