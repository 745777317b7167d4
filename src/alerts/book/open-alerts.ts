import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import { MOVED_AWAY_SQL } from '../../ledger/journal/moved-away.ts';

/**
 * Which rows of `alerts` (named `a`) somebody may still have to look after. One that waits to be confirmed is told to
 * nobody; one of a settled month is done with once it is acknowledged; what the first sync of a workspace found of its past
 * is on record only, until something new happens to it; what an exported workspace had open goes on elsewhere.
 */
export const OPEN_ALERTS = `a.state IN ${OPEN_ALERT_STATES_SQL} AND (a.state = 'firing' OR (a.state = 'acknowledged' AND NOT EXISTS (
  SELECT 1 FROM periods s WHERE s.period_key = a.period_key AND s.final_run_key IS NOT NULL)))
  AND NOT EXISTS (SELECT 1 FROM alert_transitions seed
    WHERE seed.alert_key = a.alert_key AND seed.revision = a.revision AND seed.silent_because = 'seed')
  AND a.workspace_key NOT IN (${MOVED_AWAY_SQL})`;
