import { latestPlausibleTime } from '../../core/stored-time.ts';
import { counted, formatDuration } from '../../core/text/words.ts';
import type { LedgerDb } from '../store/ledger-db.ts';

/** The number of latest runs to check. Older runs do not affect due slots or freshness. */
const MAX_RUNS_CHECKED = 5000;

export const TIMES_AHEAD_REMEDY =
  'set the clock and keep it synchronized by NTP; no other action is needed: the program ignores such times until they have passed';

/** The runs and closes that are dated more than a minute in the future. */
export interface TimesAhead {
  count: number;
  latestAt: string;
}

/** Finds the runs and closes that are dated in the future; null when there are none. */
export function findTimesAhead(connection: LedgerDb, nowMs: number): TimesAhead | null {
  const found = connection
    .prepare(
      `SELECT count(*) AS count, max(at) AS latestAt FROM (
         SELECT coalesce(finished_at, started_at) AS at
         FROM (SELECT started_at, finished_at FROM runs ORDER BY run_key DESC LIMIT ${MAX_RUNS_CHECKED})
         UNION ALL SELECT at FROM period_events) WHERE at > ?`,
    )
    .get(latestPlausibleTime(nowMs)) as { count: number; latestAt: string | null };
  return found.latestAt === null ? null : { count: found.count, latestAt: found.latestAt };
}

export function describeTimesAhead({ count, latestAt }: TimesAhead, nowMs: number): string {
  const ahead = formatDuration(Date.parse(latestAt) - nowMs);
  const has = count === 1 ? 'has a time' : 'have times';
  return `${counted(count, 'run or close', 'runs or closes')} of the ledger ${has} in the future, up to ${latestAt}, ${ahead} from now: the clock was ahead and has been set back, or is behind now`;
}
