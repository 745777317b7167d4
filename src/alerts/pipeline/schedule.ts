import { isoTime } from '../../core/clock.ts';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import type { alertNotified } from '../../ledger/store/schema/alert-tables.ts';
import { usageKind } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { failuresTakenOver } from './backoff.ts';
import type { News, Notified } from './decide.ts';
import { type ChannelRoute, hourOf, nextSummaryMs } from './route.ts';

/** What a channel is owed of an alert, and for how long that waits. */
export type Wait = Pick<
  typeof alertNotified.$inferSelect,
  'owed' | 'owedAt' | 'goesWith' | 'dueAt' | 'dueSetAt' | 'failures' | 'givenUp'
>;

export const NO_WAIT: Wait = {
  owed: null,
  owedAt: null,
  goesWith: null,
  dueAt: null,
  dueSetAt: null,
  failures: 0,
  givenUp: 0,
};

export interface WaitContext {
  alert: Pick<StoredAlert, 'episode' | 'level'>;
  isOutOfLine: boolean;
  /** The daily summary that it goes with; null: it goes by itself. */
  digestAt: string | null;
  /** Until when it waits for others of its kind; null: for nobody. */
  groupAt: () => string | null;
  nowMs: number;
}

/**
 * What waits from now on. A wait goes on for as long as the same is owed: something else goes with the daily summary, or when
 * its group goes, or when the back-off ends that runs, or at once.
 */
export function nextWait(before: Wait, verdict: News, context: WaitContext): Wait {
  const { alert, isOutOfLine, digestAt, nowMs } = context;
  const now = isoTime(nowMs);
  if (verdict.event === null) {
    const dueAt = verdict.evaluateAtMs === null ? null : isoTime(verdict.evaluateAtMs);
    return { ...NO_WAIT, dueAt, dueSetAt: dueAt === null ? null : dueAt === before.dueAt ? before.dueSetAt : now };
  }
  const owed = `${verdict.event} ${alert.episode} ${alert.level} ${verdict.notifiedCount}`;
  if (before.owed === owed) {
    const leavesGroup = before.goesWith === 'group' && before.failures === 0 && isOutOfLine;
    return leavesGroup ? { ...before, goesWith: null, dueAt: now, dueSetAt: now } : before;
  }
  const next: Wait = { ...NO_WAIT, owed, owedAt: now, dueSetAt: now };
  if (digestAt !== null) return { ...next, goesWith: 'digest', dueAt: digestAt };
  const isRetry = before.owed !== null && before.givenUp === 0 && before.failures > 0 && before.goesWith !== 'digest';
  if (isRetry) {
    const { dueAt, dueSetAt, failures } = before;
    return { ...next, dueAt, dueSetAt, failures: failuresTakenOver(failures) };
  }
  const groupAt = context.groupAt();
  return groupAt === null ? { ...next, dueAt: now } : { ...next, goesWith: 'group', dueAt: groupAt };
}

/** When the daily summary is due that a message waits for, ISO-8601 UTC; null: it goes by itself. */
export function digestAtOf(
  route: ChannelRoute,
  { rule, level, severity }: Pick<StoredAlert, 'rule' | 'level' | 'severity'>,
  { event, notified }: { event: ToldEvent; notified: Notified | null },
  nowMs: number,
): string | null {
  const ends = event === 'closed';
  // Somebody is at work because of a fault of ours, and may stop when it ends.
  const isFollowUp = ends
    ? usageKind(rule) !== null
    : level === 'settled' &&
      (usageKind(rule)?.levels?.settledGoesToDigest === true || (event === 'worse' && notified?.level === 'happened'));
  const urgent = ends ? notified?.atOnce === true : severity === 'critical';
  const waits = (isFollowUp && route.followUps === 'digest') || (!urgent && route.digestHour !== null);
  return waits ? isoTime(nextSummaryMs(hourOf(route), nowMs)) : null;
}
