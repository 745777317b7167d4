import { nextActiveMs, type TimeIntervals } from '../../core/time-intervals.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import {
  type ChannelPolicy,
  type CurrentAlert,
  decideNotification,
  type LastNotification,
  type NotifyDecision,
} from './decide.ts';
import { type GroupWait, isOutlier } from './group.ts';
import { type ChannelRoute, routeTakes } from './route.ts';
import { findDigestTime, type PendingNotification, scheduleNotification } from './schedule.ts';
import type { SilenceResult } from './silence.ts';

/** An alert as it enters the pipeline, with the facts that are the same for every channel. */
export interface PipelineAlert extends SilenceResult {
  alert: StoredAlert;
  current: CurrentAlert;
  workspaceId: string | null;
  tenantId: string | null;
}

/** One channel, with the alert's last and pending notification there. */
export interface PipelineChannel {
  route: ChannelRoute;
  last: LastNotification | null;
  before: PendingNotification;
}

export interface PipelineSteps {
  /** Returns the id of the alert that inhibits another one for a channel; null: none. */
  inhibitorOf: (alert: StoredAlert, route: ChannelRoute) => string | null;
  groups: GroupWait;
  nowMs: number;
}

/**
 * Decides whether and when one channel is notified of an alert, in six steps: route, inhibit, silence, decide, group,
 * schedule.
 */
export function runPipeline(
  { alert, current, workspaceId, tenantId, silence, passedLimits }: PipelineAlert,
  { route, last, before }: PipelineChannel,
  { inhibitorOf, groups, nowMs }: PipelineSteps,
): { decision: NotifyDecision; pending: PendingNotification } {
  const policy: ChannelPolicy = {
    routed: routeTakes(route, { ...alert, workspaceId, tenantId }),
    inhibitedBy: inhibitorOf(alert, route),
    silence,
    passedLimits,
    remindFromMs: (atMs) => nextActiveMs(reminderTimes(route), atMs),
    // The figures of a settled month cannot be changed any more, so its alert needs no reminder.
    remindAfterMs: alert.severity === 'critical' && alert.level !== 'settled' ? (route.remindAfterMs ?? null) : null,
  };
  const decision = decideNotification(current, last, policy, nowMs);
  const { event } = decision;
  const pending = scheduleNotification(before, decision, {
    alert,
    nowMs,
    isOutlier: event !== null && isOutlier(alert, event),
    digestAt: event === null ? null : findDigestTime(route, alert, { event, last }, nowMs),
    groupAt: () => (event === null ? null : groups.until(alert, route.channel, event)),
  });
  return { decision, pending };
}

/** Returns the working hours in which a channel gets reminders. */
function reminderTimes({ remindWeekdays, remindHours, timezone }: ChannelRoute): TimeIntervals {
  return { weekdays: remindWeekdays ?? null, hours: remindHours ?? null, daysOfMonth: null, timeZone: timezone };
}
