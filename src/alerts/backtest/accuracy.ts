import { DAY_MS } from '../../core/durations.ts';
import type { Period } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { usageRulesWith } from '../rules/rules.ts';

/** How accurate the notified jumps were, in months that are over. */
export interface Accuracy {
  /** Forecasts by the level of their notification. */
  forecasts: Record<'likely' | 'happened', ForecastAccuracy>;
  /** The number of months of tenants that were notified as likely jumps. */
  likely: number;
  /** How many of these months reached their limit. */
  cameTrue: number;
  /** The median number of days from the notification as likely to the one as happened; null if no jump had both. */
  leadDays: number | null;
  messagesADay: number;
}

interface ForecastAccuracy {
  notified: number;
  /** The number of forecasts whose range the month ended in. */
  held: number;
  /**
   * The median of the credits forecast for the rest of the month, divided by the actual ones; null if none followed.
   */
  forecastToActual: number | null;
}

/** Computes the accuracy from a ledger in which the history was replayed. */
export function readAccuracy(
  connection: LedgerDb,
  { from, to }: { from: Period; to: Period },
  { firstRunAt, lastRunAt }: { firstRunAt: string; lastRunAt: string },
): Accuracy {
  const rules = JSON.stringify(usageRulesWith(({ stake }) => stake?.hasShare === true));
  const over = { from, to, rules, open: lastRunAt.slice(0, 7) };
  const forecasts = connection
    .prepare(
      `SELECT x.level, x.current_credits AS used, x.evidence ->> '$.projection.low_credits' AS low,
         x.evidence ->> '$.projection.credits' AS forecast, x.evidence ->> '$.projection.high_credits' AS high,
         u.credits_used AS ended ${OF_JUMPS} AND low IS NOT NULL`,
    )
    .all(over) as NotifiedForecast[];
  const notified = connection
    .prepare(
      `SELECT min(x.at) FILTER (WHERE x.level = 'likely') AS likelyAt, min(x.at) FILTER (WHERE x.level <> 'likely') AS happenedAt,
         u.credits_used >= a.threshold AS isTrue ${OF_JUMPS}
         AND x.silent = 0 AND x.change IN ('fired', 'escalated', 'grown', 'notified') GROUP BY a.alert_key HAVING likelyAt IS NOT NULL`,
    )
    .all(over) as { likelyAt: string; happenedAt: string | null; isTrue: number }[];
  const leads = notified.flatMap(({ likelyAt, happenedAt }) =>
    happenedAt === null || happenedAt <= likelyAt ? [] : [(Date.parse(happenedAt) - Date.parse(likelyAt)) / DAY_MS],
  );
  const days = (Date.parse(lastRunAt) - Date.parse(firstRunAt)) / DAY_MS;
  const messages = connection.prepare('SELECT count(*) FROM deliveries').pluck().get() as number;
  return {
    forecasts: {
      likely: accuracyOf(forecasts.filter(({ level }) => level === 'likely')),
      happened: accuracyOf(forecasts.filter(({ level }) => level === 'happened')),
    },
    likely: notified.length,
    cameTrue: notified.filter(({ isTrue }) => isTrue === 1).length,
    leadDays: medianOf(leads),
    messagesADay: messages / Math.max(1, days),
  };
}

/** SQL source of growth notifications in months that are over. */
const OF_JUMPS = `FROM alert_transitions x JOIN alerts a USING (alert_key) JOIN periods p USING (period_key)
  JOIN tenant_usage u ON u.period_key = a.period_key AND u.tenant_key = a.tenant_key
  WHERE a.rule IN (SELECT value FROM json_each(@rules)) AND p.period BETWEEN @from AND @to AND p.period < @open`;

interface NotifiedForecast {
  level: string;
  used: number;
  low: number;
  forecast: number;
  high: number;
  ended: number;
}

function accuracyOf(forecasts: readonly NotifiedForecast[]): ForecastAccuracy {
  const grown = forecasts.filter(({ used, ended }) => ended > used);
  return {
    notified: forecasts.length,
    held: forecasts.filter(({ low, high, ended }) => ended >= low && ended <= high).length,
    forecastToActual: medianOf(grown.map(({ used, forecast, ended }) => (forecast - used) / (ended - used))),
  };
}

function medianOf(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
