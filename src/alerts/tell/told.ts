import type Database from 'better-sqlite3';
import { prepared } from '../../ledger/store/query.ts';
import { alertTold } from '../../ledger/store/schema/alert-tables.ts';
import { eq, sql } from '../../ledger/store/schema/drizzle.ts';
import type { LastTold } from './news.ts';

/** Stands for every receiver that has no row of its own. */
const EVERYBODY = '*';

/** The last that a receiver was told, with the number of that message. */
export interface ToldRow extends LastTold {
  revision: number;
}

const toldOfAlert = prepared((db) =>
  db
    .select()
    .from(alertTold)
    .where(eq(alertTold.alertKey, sql.placeholder('alertKey'))),
);

/** Reads what the receivers were told of an alert. */
export function readTold(connection: Database.Database, alertKey: number): (channel: string) => ToldRow | null {
  const rows = toldOfAlert(connection).all({ alertKey });
  const known = new Map(rows.map((row) => [row.channel, row]));
  return (channel) => {
    const row = known.get(channel) ?? known.get(EVERYBODY);
    if (row === undefined) return null;
    const { event, episode, level, toldTimes, measure, open, at, atOnce, revision } = row;
    return {
      event,
      episode,
      level,
      toldTimes,
      measure,
      revision,
      open: open === 1,
      atMs: Date.parse(at),
      atOnce: atOnce === 1,
    };
  };
}

/** What was there before anybody could be told of it is no news to anybody. */
export function writeBaseline(connection: Database.Database, alertKey: number): void {
  connection.prepare(`${BASELINE} AND a.alert_key = ? ON CONFLICT DO NOTHING`).run(alertKey);
}

const BASELINE = `INSERT INTO alert_told (alert_key, channel, event, episode, level, told_times, measure, open, at, at_once, revision)
  SELECT a.alert_key, '${EVERYBODY}', 'baseline', a.episode, a.level, a.told_times, a.measure, 0, a.last_changed_at, 0, 0
  FROM alerts a WHERE a.state IN ('firing', 'acknowledged')`;
