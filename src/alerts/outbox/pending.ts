import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alertNotified } from '../../ledger/store/schema/alert-tables.ts';
import { placeholders, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import type { LastNotification } from '../pipeline/decide.ts';
import { NO_PENDING_NOTIFICATION, type PendingNotification } from '../pipeline/schedule.ts';
import { ALL_CHANNELS } from './due.ts';

type NotifiedRow = typeof alertNotified.$inferSelect;

/** The last and the pending notification of one alert on one channel. */
export interface ChannelNotification {
  /** The channel's last notification of the alert; null if there was none. */
  last: LastNotification | null;
  pending: PendingNotification;
  revision: number;
  /** The message about the alert that is being delivered; null if there is none. */
  deliveryKey: number | null;
}

const rowsOfAlerts = prepared((db) =>
  db
    .select()
    .from(alertNotified)
    .where(sql`${alertNotified.alertKey} IN (SELECT value FROM json_each(${sql.placeholder('alertKeys')}) each)`),
);

/** The notifications of alerts on all channels. */
export interface NotificationLog {
  of(alertKey: number, channel: string): ChannelNotification;
  /**
   * Reports whether a channel was notified of the alert but not of its end, or a decision or notification is scheduled.
   */
  isActive(alertKey: number): boolean;
}

/** Reads the notifications of alerts on all channels. */
export function readNotificationLog(connection: LedgerDb, alertKeys: readonly number[]): NotificationLog {
  const known = Map.groupBy(
    rowsOfAlerts(connection).all({ alertKeys: JSON.stringify(alertKeys) }),
    (row) => row.alertKey,
  );
  return {
    of(alertKey, channel) {
      const rows = known.get(alertKey) ?? [];
      const row = rows.find((one) => one.channel === channel);
      const last = row === undefined || row.event === null ? rows.find((one) => one.channel === ALL_CHANNELS) : row;
      return {
        last: last === undefined ? null : toLastNotification(last),
        pending: row ?? NO_PENDING_NOTIFICATION,
        revision: row?.revision ?? 0,
        deliveryKey: row?.deliveryKey ?? null,
      };
    },
    isActive: (alertKey) => known.get(alertKey)?.some(({ open, dueAt }) => open === 1 || dueAt !== null) === true,
  };
}

function toLastNotification(row: NotifiedRow): LastNotification | null {
  const { event, episode, level, severity, notifiedCount, magnitude, open, at, atOnce } = row;
  if (event === null || episode === null || level === null || at === null) return null;
  return {
    event,
    episode,
    level,
    magnitude,
    severity: severity ?? 'warning',
    notifiedCount: notifiedCount ?? 0,
    open: open === 1,
    atMs: Date.parse(at),
    atOnce: atOnce === 1,
  };
}

const PENDING_COLUMNS = ['pending', 'pendingAt', 'batch', 'dueAt', 'scheduledAt', 'failures', 'givenUp'] as const;

const upsertPending = prepared((db) =>
  db
    .insert(alertNotified)
    .values(placeholders(['alertKey', 'channel', ...PENDING_COLUMNS]) as never)
    .onConflictDoUpdate({
      target: [alertNotified.alertKey, alertNotified.channel],
      set: {
        pending: sql`excluded.pending`,
        pendingAt: sql`excluded.pending_at`,
        batch: sql`excluded.batch`,
        dueAt: sql`excluded.due_at`,
        scheduledAt: sql`excluded.scheduled_at`,
        failures: sql`excluded.failures`,
        givenUp: sql`excluded.given_up`,
      },
    }),
);

/** Writes a channel's pending notification if it changed. */
export function writePendingNotification(
  connection: LedgerDb,
  { alertKey, channel }: { alertKey: number; channel: string },
  before: PendingNotification,
  pending: PendingNotification,
): void {
  if (PENDING_COLUMNS.every((name) => pending[name] === before[name])) return;
  upsertPending(connection).run({ ...pending, alertKey, channel });
}

/**
 * Records an alert as found by the first sync. Channels are not notified of it, and compare its later changes with this
 * state.
 */
export function writeBaseline(connection: LedgerDb, alertKey: number): void {
  connection.prepare(`${BASELINE} AND a.alert_key = ? ON CONFLICT DO NOTHING`).run(alertKey);
}

const BASELINE = `INSERT INTO alert_notified (alert_key, channel, event, episode, level, severity, notified_count, magnitude, open, at, at_once)
  SELECT a.alert_key, '${ALL_CHANNELS}', 'baseline', a.episode, a.level, a.severity, a.notified_count, a.magnitude, 0, a.last_changed_at, 0
  FROM alerts a WHERE a.state IN ('firing', 'acknowledged')`;
