import { isoTime } from '../../core/clock.ts';
import type { BookContext, UnpublishedChange } from '../book/alert-change.ts';
import { type RuleName, SELF_RULES } from '../rules/rule.ts';
import { type ChannelRoute, hourOf, nextDigestMs, takes } from './routes.ts';

/** A channel that hears of a change. */
export interface Recipient {
  channel: string;
  /** When the digest is due that the change waits for, ISO-8601 UTC; null: it goes at once. */
  digestAt: string | null;
}

/** What a channel has been told of a firing. */
interface Told {
  channel: string;
  /** 1 when something of it went at once. */
  atOnce: number;
  /** When what still waits is due; null when nothing does. */
  heldUntil: string | null;
  /** 1 when it was told that the jump is certain. */
  certain: number;
}

/** Somebody is at work because of these, and may stop when they end. */
const URGENT_ENDS: readonly RuleName[] = ['incident', ...SELF_RULES];

/**
 * Returns what says who hears of a change. News goes where the routes say; the end of an alert goes to those that were
 * told of this firing and to nobody else, so that no receiver keeps an alert open for ever, or hears the end of one that
 * it never heard of. The outbox alone is asked, so a route that was changed meanwhile changes nothing about that.
 */
export function createRecipients({
  connection,
  channels,
  nowMs,
}: BookContext): (draft: UnpublishedChange) => Recipient[] {
  const told = connection.prepare(
    `SELECT o.channel, max(o.digest_at IS NULL) AS atOnce, max(x.stage = 'certain') AS certain,
       min(CASE WHEN o.state = 'held' THEN o.next_attempt_at END) AS heldUntil
     FROM outbox o JOIN alert_transitions x USING (alert_key, revision)
     WHERE o.alert_key = @alertKey AND o.revision >= (
       SELECT max(revision) FROM alert_transitions WHERE alert_key = @alertKey AND change = 'fired')
     GROUP BY o.channel`,
  );
  return (draft) => {
    const { alert, change } = draft;
    const rows = told.all({ alertKey: alert.alertKey }) as Told[];
    const known = new Map(rows.map((row) => [row.channel, row]));
    const ends = change === 'resolved';
    return channels
      .filter((route) => (ends ? known.has(route.channel) : takes(route, alert)))
      .map((route) => {
        const { channel } = route;
        const history = known.get(channel) ?? { channel, atOnce: 0, heldUntil: null, certain: 0 };
        if (!waits(route, draft, history)) return { channel, digestAt: null };
        // What waits already takes this along, so that nobody hears of it before.
        return { channel, digestAt: history.heldUntil ?? isoTime(nextDigestMs(hourOf(route), nowMs)) };
      });
  };
}

/** What these find when a month has settled is over, and can be read in the morning. */
const SETTLED: readonly RuleName[] = ['drop', 'trend'];

/** Whether a change goes with a digest of the channel, and not at once. */
function waits(
  { digestHour, followUps }: ChannelRoute,
  { alert, change, expected }: UnpublishedChange,
  { atOnce, heldUntil, certain }: Told,
) {
  const ends = change === 'resolved';
  const followUp = ends
    ? !URGENT_ENDS.includes(alert.rule)
    : expected ||
      (alert.stage === 'final' && (SETTLED.includes(alert.rule) || (change === 'escalated' && certain === 1)));
  if (followUp && followUps === 'digest') return true;
  const urgent = ends ? atOnce === 1 : alert.severity === 'critical';
  return !urgent && (digestHour !== null || heldUntil !== null);
}
