import { type Period, periodBounds } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { and, desc, eq, gte, lte } from '../../store/schema/drizzle.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { periods } from '../../store/schema/workspace-tables.ts';

/** The last run that has asked for a period; of one that had no record it is all that the ledger knows. */
export function coveringRun(connection: LedgerConnection, workspaceKey: number, period: Period): number | null {
  const covers = and(lte(runs.fromPeriod, period), gte(runs.toPeriod, period));
  const found = query(connection)
    .select({ runKey: runs.runKey })
    .from(runs)
    .where(and(eq(runs.workspaceKey, workspaceKey), eq(runs.status, 'applied'), covers))
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  return found?.runKey ?? null;
}

/** Gives a period without a record a row of its own, so that it can be closed; undefined where no run has asked for it. */
export function addQuietPeriod(
  connection: LedgerConnection,
  workspaceKey: number,
  period: Period,
): typeof periods.$inferSelect | undefined {
  const coveredRunKey = coveringRun(connection, workspaceKey, period);
  if (coveredRunKey === null) return undefined;
  const { start: periodStart, end: periodEnd } = periodBounds(period);
  const periodKey = periodKeyOf(workspaceKey, period);
  const row = { periodKey, workspaceKey, period, periodStart, periodEnd, coveredRunKey };
  return query(connection).insert(periods).values(row).returning().get();
}
