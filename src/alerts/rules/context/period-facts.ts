import { oncePerKey } from '../../../core/one-at-a-time.ts';
import { type Period, periodEndMs } from '../../../core/period.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';
import { eq, min, prepared, sql } from '../../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../../ledger/store/schema/keys.ts';
import { runs } from '../../../ledger/store/schema/run-tables.ts';
import { periods } from '../../../ledger/store/schema/workspace-tables.ts';
import { type PeriodPhase, periodPhaseAt } from '../../figures/period-phase.ts';

/** A period of a workspace as the rules see it. */
export interface PeriodFacts {
  periodKey: number;
  period: Period;
  phase: PeriodPhase;
  /** True if the previous period was read completely after its end, so its figures are final. */
  previousComplete: boolean;
  /** True if the previous period is the first of the workspace, and so probably incomplete. */
  previousIsFirst: boolean;
}

const firstPeriodOf = prepared((db) =>
  db
    .select({ key: min(periods.periodKey) })
    .from(periods)
    .where(eq(periods.workspaceKey, sql.placeholder('workspaceKey'))),
);

const lastReading = prepared((db) =>
  db
    .select({ startedAt: runs.startedAt })
    .from(periods)
    .innerJoin(runs, eq(runs.runKey, periods.coveredRunKey))
    .where(eq(periods.periodKey, sql.placeholder('periodKey'))),
);

/** Reads facts about periods, each once. A period settles `settleHours` after its end. */
export function createPeriodFacts(
  connection: LedgerDb,
  { workspaceKey, nowMs, settleHours }: { workspaceKey: number; nowMs: number; settleHours: number },
): (periodKey: number) => PeriodFacts {
  const firstKey = firstPeriodOf(connection).get({ workspaceKey })?.key ?? null;
  // If the run began before the end of the period, it may have read tenants before they used their last credits in it.
  const isComplete = (periodKey: number): boolean => {
    const run = lastReading(connection).get({ periodKey });
    return run !== undefined && Date.parse(run.startedAt) >= periodEndMs(periodOfKey(periodKey));
  };
  return oncePerKey((periodKey) => {
    const period = periodOfKey(periodKey);
    const settled = nowMs >= periodEndMs(period) + settleHours * 3_600_000 && isComplete(periodKey);
    return {
      periodKey,
      period,
      phase: { ...periodPhaseAt(period, nowMs), settled },
      previousComplete: isComplete(periodKey - 1),
      previousIsFirst: firstKey === null || periodKey - 1 <= firstKey,
    };
  });
}
