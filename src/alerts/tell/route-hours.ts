import { isoTime } from '../../core/clock.ts';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import { usageRule } from '../rules/table.ts';
import type { StoredAlert } from '../track/alert-rows.ts';
import { type ChannelRoute, hourOf, nextSummaryMs } from '../track/routes.ts';
import type { LastTold } from './news.ts';

/** When the daily summary is due that a word waits for, ISO-8601 UTC; null: it goes at once. */
export function digestAtOf(
  route: ChannelRoute,
  { rule, level, severity }: Pick<StoredAlert, 'rule' | 'level' | 'severity'>,
  { event, told }: { event: ToldEvent; told: LastTold | null },
  nowMs: number,
): string | null {
  const ends = event === 'closed';
  // Somebody is at work because of a fault of ours, and may stop when it ends.
  const isFollowUp = ends
    ? usageRule(rule) !== null
    : level === 'settled' && (usageRule(rule)?.canWait === true || (event === 'worse' && told?.level === 'happened'));
  const urgent = ends ? told?.atOnce === true : severity === 'critical';
  const waits = (isFollowUp && route.followUps === 'digest') || (!urgent && route.digestHour !== null);
  return waits ? isoTime(nextSummaryMs(hourOf(route), nowMs)) : null;
}
