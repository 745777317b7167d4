import { isoTime } from '../../core/clock.ts';
import type { NotificationEvent } from '../../core/text/alert-words.ts';
import type { alertNotified } from '../../ledger/store/schema/alert-tables.ts';
import { usageKind } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { initialFailures } from './backoff.ts';
import type { LastNotification, NotifyDecision } from './decide.ts';
import { type ChannelRoute, findSummaryTimes } from './route.ts';

/** The decided notification of an alert that a channel has not got yet, with its due time. */
export type PendingNotification = Pick<
  typeof alertNotified.$inferSelect,
  'pending' | 'pendingAt' | 'batch' | 'dueAt' | 'scheduledAt' | 'failures' | 'givenUp'
>;

export const NO_PENDING_NOTIFICATION: PendingNotification = {
  pending: null,
  pendingAt: null,
  batch: null,
  dueAt: null,
  scheduledAt: null,
  failures: 0,
  givenUp: 0,
};

/** The facts that decide when a notification is sent. */
export interface ScheduleContext {
  alert: Pick<StoredAlert, 'episode' | 'level'>;
  isOutlier: boolean;
  /** The time of the digest that includes the notification; null if no digest does. */
  digestAt: string | null;
  /** Returns until when the notification waits for a group; null: it does not wait. */
  groupAt: () => string | null;
  nowMs: number;
}

/**
 * Returns a channel's pending notification after a decision. While the decision stays the same, the notification keeps
 * its time. A new one is due with the digest, with its group, when a running back-off ends, or now.
 */
export function scheduleNotification(
  before: PendingNotification,
  decision: NotifyDecision,
  context: ScheduleContext,
): PendingNotification {
  const { alert, isOutlier, digestAt, nowMs } = context;
  const now = isoTime(nowMs);
  if (decision.event === null) {
    const dueAt = decision.evaluateAtMs === null ? null : isoTime(decision.evaluateAtMs);
    const scheduledAt = dueAt === null ? null : dueAt === before.dueAt ? before.scheduledAt : now;
    return { ...NO_PENDING_NOTIFICATION, dueAt, scheduledAt };
  }
  const pending = `${decision.event} ${alert.episode} ${alert.level} ${decision.notifiedCount}`;
  if (before.pending === pending) {
    const leavesGroup = before.batch === 'group' && before.failures === 0 && isOutlier;
    return leavesGroup ? { ...before, batch: null, dueAt: now, scheduledAt: now } : before;
  }
  const next: PendingNotification = { ...NO_PENDING_NOTIFICATION, pending, pendingAt: now, scheduledAt: now };
  if (digestAt !== null) return { ...next, batch: 'digest', dueAt: digestAt };
  const isRetry = before.pending !== null && before.givenUp === 0 && before.failures > 0 && before.batch !== 'digest';
  if (isRetry) {
    const { dueAt, scheduledAt, failures } = before;
    return { ...next, dueAt, scheduledAt, failures: initialFailures(failures) };
  }
  const groupAt = context.groupAt();
  return groupAt === null ? { ...next, dueAt: now } : { ...next, batch: 'group', dueAt: groupAt };
}

/** Returns the time of the digest that a notification waits for, ISO-8601 UTC; null if it does not wait for one. */
export function findDigestTime(
  route: ChannelRoute,
  { rule, level, severity }: Pick<StoredAlert, 'rule' | 'level' | 'severity'>,
  { event, last }: { event: NotificationEvent; last: LastNotification | null },
  nowMs: number,
): string | null {
  const ends = event === 'closed';
  // The end of a system alert is sent at once: a person may be working on the fault.
  const isFollowUp = ends
    ? usageKind(rule) !== null
    : level === 'settled' && usageKind(rule)?.levels?.settledGoesToDigest === true;
  const urgent = ends ? last?.atOnce === true : severity === 'critical';
  const waits = (isFollowUp && route.followUps === 'digest') || (!urgent && route.digestHour !== null);
  return waits ? isoTime(findSummaryTimes(route, nowMs).nextMs) : null;
}
