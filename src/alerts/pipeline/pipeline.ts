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
import { type ChannelRoute, takes } from './route.ts';
import { digestTime, type PendingNotification, scheduleNotification } from './schedule.ts';
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

/** Takes an alert through the six steps for one channel: route, inhibit, silence, decide, group, schedule. */
export function runPipeline(
  { alert, current, workspaceId, tenantId, silence, passedLimits }: PipelineAlert,
  { route, last, before }: PipelineChannel,
  { inhibitorOf, groups, nowMs }: PipelineSteps,
): { decision: NotifyDecision; pending: PendingNotification } {
  const policy: ChannelPolicy = {
    routed: takes(route, { ...alert, workspaceId, tenantId }),
    inhibitedBy: inhibitorOf(alert, route),
    silence,
    passedLimits,
    remindFromMs: (atMs) => nextActiveMs(reminderTimes(route), atMs),
    // A settled alert is a record and needs no reminder.
    remindAfterMs: alert.severity === 'critical' && alert.level !== 'settled' ? (route.remindAfterMs ?? null) : null,
  };
  const decision = decideNotification(current, last, policy, nowMs);
  const { event } = decision;
  const pending = scheduleNotification(before, decision, {
    alert,
    nowMs,
    isOutlier: event !== null && isOutlier(alert, event),
    digestAt: event === null ? null : digestTime(route, alert, { event, last }, nowMs),
    groupAt: () => (event === null ? null : groups.until(alert, route.channel, event)),
  });
  return { decision, pending };
}

/** Returns the working hours in which a channel gets reminders. */
function reminderTimes({ remindWeekdays, remindHours, timezone }: ChannelRoute): TimeIntervals {
  return { weekdays: remindWeekdays ?? null, hours: remindHours ?? null, daysOfMonth: null, timeZone: timezone };
}
