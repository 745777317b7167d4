import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import { query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { summaryIsDue } from '../outbox/outbox.ts';
import { insertNotification } from '../tell/insert-notification.ts';
import { buildDailySummaries, type HeldNotification } from './daily-summary.ts';

type Connection = Database.Database;

interface HeldRow extends HeldNotification {
  channel: string;
  nextAttemptAt: string;
}

/**
 * Makes one daily summary a channel of all that waits for one that is due, in one transaction: what is in it is marked, so of
 * two processes only one makes it, and a crash leaves either all or nothing to be made. From then on a daily summary is a
 * notification like any other. Returns their ids.
 */
export function composeDailySummaries(connection: Connection, nowMs: number): string[] {
  const createdAt = isoTime(nowMs);
  return connection
    .transaction(() => {
      const head = headOfChain(connection);
      const db = query(connection);
      const { notificationId, channel, payload, nextAttemptAt } = outbox;
      const isHeld = eq(outbox.state, 'held').inlineParams();
      const rows = db
        .select({ notificationId, alertId: alerts.alertId, channel, payload, nextAttemptAt })
        .from(outbox)
        .innerJoin(alerts, eq(alerts.alertKey, outbox.alertKey))
        .where(summaryIsDue(nowMs))
        .orderBy(asc(outbox.alertKey), asc(outbox.revision))
        .all();
      return [...byChannel(rows)].flatMap(([channel, held]) => {
        // Several hours may have been missed; the message says which one it stands for.
        const hours = held.map((row) => row.nextAttemptAt).filter((at) => at <= createdAt);
        const dueAt = hours.sort().at(-1) ?? createdAt;
        return buildDailySummaries(held, { channel, dueAt, createdAt, head }).map(
          ({ notificationId, members, payload }) => {
            insertNotification(connection, { notificationId, channel, payload, createdAt }).run();
            const digested = { state: 'digested' as const, digestId: notificationId };
            for (const member of members) {
              db.update(outbox)
                .set(digested)
                .where(and(eq(outbox.notificationId, member), isHeld))
                .run();
            }
            return notificationId;
          },
        );
      });
    })
    .immediate();
}

function byChannel(rows: readonly HeldRow[]): Map<string, HeldRow[]> {
  const channels = new Map<string, HeldRow[]>();
  for (const row of rows) {
    const held = channels.get(row.channel) ?? [];
    held.push(row);
    channels.set(row.channel, held);
  }
  return channels;
}
