import { isoTime } from '../../core/clock.ts';
import type { BookContext, Draft } from '../book/alert-change.ts';
import { nextDigestMs, takes } from './routes.ts';

/** A channel that hears of a change. */
export interface Recipient {
  channel: string;
  /** When the digest is due that the change waits for, ISO-8601 UTC; null: it goes at once. */
  digestAt: string | null;
}

interface ToldRow {
  channel: string;
  /** 1 when something of this firing went at once. */
  atOnce: number;
  /** When what still waits is due; null when nothing does. */
  heldUntil: string | null;
}

/**
 * Returns what says who hears of a change. News goes where the routes say; the end of an alert goes to those that were
 * told of this firing and to nobody else, so that no receiver keeps an alert open for ever, or hears the end of one that
 * it never heard of. The outbox alone is asked, so a route that was changed meanwhile changes nothing about that.
 */
export function createRecipients({ connection, channels, nowMs }: BookContext): (draft: Draft) => Recipient[] {
  const told = connection.prepare(
    `SELECT channel, max(digest_at IS NULL) AS atOnce, min(CASE WHEN state = 'held' THEN next_attempt_at END) AS heldUntil
     FROM outbox WHERE alert_key = @alertKey AND revision >= (
       SELECT max(revision) FROM alert_transitions WHERE alert_key = @alertKey AND change = 'fired')
     GROUP BY channel`,
  );
  return ({ alert, change }) => {
    const rows = told.all({ alertKey: alert.alertKey }) as ToldRow[];
    const known = new Map(rows.map((row) => [row.channel, row]));
    const ends = change === 'resolved';
    return channels
      .filter((route) => (ends ? known.has(route.channel) : takes(route, alert)))
      .map(({ channel, digestHour }) => {
        const { atOnce, heldUntil } = known.get(channel) ?? { atOnce: 0, heldUntil: null };
        const urgent = ends ? atOnce === 1 : alert.severity === 'critical';
        if (urgent) return { channel, digestAt: null };
        // What waits already takes this along, so that nobody hears of it before.
        if (heldUntil !== null) return { channel, digestAt: heldUntil };
        return { channel, digestAt: digestHour === null ? null : isoTime(nextDigestMs(digestHour, nowMs)) };
      });
  };
}
