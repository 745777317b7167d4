import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alertNotified } from '../../ledger/store/schema/alert-tables.ts';
import { placeholders, prepared, sql } from '../../ledger/store/schema/drizzle.ts';
import type { Notified } from '../pipeline/decide.ts';
import { NO_WAIT, type Wait } from '../pipeline/schedule.ts';

/** Stands for every channel that was told nothing yet, and for all of them where something is to be asked again. */
export const EVERYBODY = '*';

type Row = typeof alertNotified.$inferSelect;

export interface ChannelStanding {
  /** Null: nothing, and it was there before anybody could be told. */
  notified: Notified | null;
  wait: Wait;
  revision: number;
  deliveryKey: number | null;
}

const rowsOfAlerts = prepared((db) =>
  db
    .select()
    .from(alertNotified)
    .where(sql`${alertNotified.alertKey} IN (SELECT value FROM json_each(${sql.placeholder('alertKeys')}) each)`),
);

export interface Standings {
  of(alertKey: number, channel: string): ChannelStanding;
  /** Somebody was told of it and not of its end, or something of it waits. */
  isHeard(alertKey: number): boolean;
}

/** Reads what all channels have of alerts. */
export function readStandings(connection: LedgerDb, alertKeys: readonly number[]): Standings {
  const known = Map.groupBy(
    rowsOfAlerts(connection).all({ alertKeys: JSON.stringify(alertKeys) }),
    (row) => row.alertKey,
  );
  return {
    of(alertKey, channel) {
      const rows = known.get(alertKey) ?? [];
      const row = rows.find((one) => one.channel === channel);
      const last = row === undefined || row.event === null ? rows.find((one) => one.channel === EVERYBODY) : row;
      return {
        notified: last === undefined ? null : notifiedOf(last),
        wait: row ?? NO_WAIT,
        revision: row?.revision ?? 0,
        deliveryKey: row?.deliveryKey ?? null,
      };
    },
    isHeard: (alertKey) => known.get(alertKey)?.some(({ open, dueAt }) => open === 1 || dueAt !== null) === true,
  };
}

function notifiedOf({ event, episode, level, notifiedCount, measure, open, at, atOnce }: Row): Notified | null {
  if (event === null || episode === null || level === null || at === null) return null;
  return {
    event,
    episode,
    level,
    measure,
    notifiedCount: notifiedCount ?? 0,
    open: open === 1,
    atMs: Date.parse(at),
    atOnce: atOnce === 1,
  };
}

const WAIT = ['owed', 'owedAt', 'goesWith', 'dueAt', 'dueSetAt', 'failures', 'givenUp'] as const;

const putWait = prepared((db) =>
  db
    .insert(alertNotified)
    .values(placeholders(['alertKey', 'channel', ...WAIT]) as never)
    .onConflictDoUpdate({
      target: [alertNotified.alertKey, alertNotified.channel],
      set: {
        owed: sql`excluded.owed`,
        owedAt: sql`excluded.owed_at`,
        goesWith: sql`excluded.goes_with`,
        dueAt: sql`excluded.due_at`,
        dueSetAt: sql`excluded.due_set_at`,
        failures: sql`excluded.failures`,
        givenUp: sql`excluded.given_up`,
      },
    }),
);

/** Writes down what a channel waits for, where that is another than before. */
export function writeWait(
  connection: LedgerDb,
  { alertKey, channel }: { alertKey: number; channel: string },
  before: Wait,
  wait: Wait,
): void {
  if (WAIT.some((name) => wait[name] !== before[name])) putWait(connection).run({ ...wait, alertKey, channel });
}

/** What was there before anybody could be told of it is no news to anybody. */
export function writeBaseline(connection: LedgerDb, alertKey: number): void {
  connection.prepare(`${BASELINE} AND a.alert_key = ? ON CONFLICT DO NOTHING`).run(alertKey);
}

const BASELINE = `INSERT INTO alert_notified (alert_key, channel, event, episode, level, notified_count, measure, open, at, at_once)
  SELECT a.alert_key, '${EVERYBODY}', 'baseline', a.episode, a.level, a.notified_count, a.measure, 0, a.last_changed_at, 0
  FROM alerts a WHERE a.state IN ('firing', 'acknowledged')`;
