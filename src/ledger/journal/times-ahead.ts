import { latestKnown } from '../../core/stored-time.ts';
import { counted, formatDuration } from '../../core/text/words.ts';
import type { LedgerDb } from '../store/ledger-db.ts';

/** So many of the latest runs are looked at: what lies further back makes nothing due or fresh. */
const LATEST_RUNS = 5000;

export const TIMES_AHEAD_REMEDY =
  'set the clock right and keep it by NTP; nothing else is to be done: such times count as unknown until they have come';

/** Runs and closes that a clock has dated more than a minute into the future. */
export interface TimesAhead {
  count: number;
  latestAt: string;
}

/** Null when the ledger's latest times can all have been. */
export function timesAhead(connection: LedgerDb, nowMs: number): TimesAhead | null {
  const found = connection
    .prepare(
      `SELECT count(*) AS count, max(at) AS latestAt FROM (
         SELECT coalesce(finished_at, started_at) AS at
         FROM (SELECT started_at, finished_at FROM runs ORDER BY run_key DESC LIMIT ${LATEST_RUNS})
         UNION ALL SELECT at FROM period_events) WHERE at > ?`,
    )
    .get(latestKnown(nowMs)) as { count: number; latestAt: string | null };
  return found.latestAt === null ? null : { count: found.count, latestAt: found.latestAt };
}

export function describeAhead({ count, latestAt }: TimesAhead, nowMs: number): string {
  const ahead = formatDuration(Date.parse(latestAt) - nowMs);
  const has = count === 1 ? 'has a time' : 'have times';
  return `${counted(count, 'run or close', 'runs or closes')} of the ledger ${has} to come, up to ${latestAt}, ${ahead} from now: the clock was ahead and has been set back, or is behind now`;
}
