import { adjustments } from '../../../ledger/store/schema/billing-tables.ts';
import { eq, prepared, preparedSql, sql } from '../../../ledger/store/schema/drizzle.ts';
import { findPeriod } from '../../../ledger/store/subjects.ts';
import { roundUpMinCredits } from '../../figures/threshold.ts';
import { NO_USAGE, type UsageFigures } from '../../figures/usage-figures.ts';
import { SLACK } from '../context/candidates.ts';
import type { RuleContext, TenantFacts } from '../context/rule-context.ts';
import { clear, holds, type Judgement, UNDECIDED } from '../judgement.ts';
import type { Candidate, Detection, OpenAlert, RuleResult } from '../rule.ts';

export const restatementDetection: Detection = {
  inRun: findChanged,
  ofTenant: judgeRestatementOfTenant,
};

export interface RestatementInput {
  /**
   * The tenant's figures when the period was closed, or else when it settled; null if it is neither closed nor settled.
   */
  stated: UsageFigures | null;
  /** True if the period is closed, so its figures have been invoiced. */
  closed: boolean;
  current: UsageFigures;
  /** Credits below which a change is ignored. */
  floor: bigint;
}

/**
 * Judges a change of a closed or settled period. The alert ends when the service reverts the change. Changes below the
 * floor are not reported, and in a period that is not closed also changes by less than a hundredth.
 */
export function judgeRestatement({ stated, closed, current, floor }: RestatementInput): Judgement {
  if (stated === null) return clear(true);
  const change = current.credits - stated.credits;
  const size = change < 0n ? -change : change;
  const part = closed ? 0n : stated.credits;
  if (size * 100n < part || size < floor || size === 0n) {
    return size * 2n < floor || size * 200n < part ? clear(true) : UNDECIDED;
  }
  const level = closed ? 'settled' : 'happened';
  return holds({ level, severity: 'warning', threshold: null, magnitude: size });
}

const correctedBy = prepared((db) => {
  const { correctsPeriodKey: periodKey, tenantKey, runKey } = adjustments;
  const corrected = db.selectDistinct({ periodKey, tenantKey }).from(adjustments);
  return corrected.where(eq(runKey, sql.placeholder('runKey')));
});

function findChanged(context: RuleContext): Candidate[] {
  const { connection, merged } = context;
  const settled = [...merged.changed.keys()].flatMap((periodKey) =>
    findRestated(context, periodKey).map((tenantKey) => ({ periodKey, tenantKey })),
  );
  return [...correctedBy(connection).all({ runKey: merged.run.runKey }), ...settled];
}

/**
 * Finds tenants of a settled, unclosed period whose figures this run changed, so that they differ from the settled
 * figures.
 */
function findRestated({ merged, usageHistory, settings }: RuleContext, periodKey: number): number[] {
  const floor = settings.leastFloor;
  const settledEntry = usageHistory.settledEntry(periodKey);
  if (settledEntry === null || findPeriod(merged.connection, periodKey)?.closedSeq !== null) return [];
  return merged.connection
    .prepare(
      `SELECT tenant_key FROM (
         SELECT e.tenant_key, e.credits_after,
           coalesce((SELECT s.credits_after FROM usage_entries s WHERE s.period_key = e.period_key
             AND s.tenant_key = e.tenant_key AND s.entry_id <= @settledEntry ORDER BY s.entry_id DESC LIMIT 1), 0) AS settled
         FROM usage_entries e WHERE e.entry_id > @after AND e.entry_id <= @last AND +e.period_key = @periodKey)
       WHERE abs(credits_after - settled) >= @floor AND abs(credits_after - settled) * 100.0 >= settled * ${SLACK}`,
    )
    .pluck()
    .all({ ...merged.changed.get(periodKey), periodKey, settledEntry, floor }) as number[];
}

const closedFigures = preparedSql(
  `SELECT c.credits_used, c.request_count FROM periods p
       LEFT JOIN closed_usage c ON c.period_key = p.period_key AND c.tenant_key = ?
       WHERE p.period_key = ? AND p.closed_seq IS NOT NULL`,
  'safeIntegers',
  'raw',
);

function judgeRestatementOfTenant(
  { connection, usageHistory, settings, tenantId }: RuleContext,
  tenant: TenantFacts,
  known: OpenAlert | null,
): RuleResult {
  const { periodKey, tenantKey } = tenant;
  const row = closedFigures(connection).get(tenantKey, periodKey) as [bigint | null, bigint | null] | undefined;
  const closed = row === undefined ? null : { credits: row[0] ?? 0n, requests: row[1] ?? 0n };
  const stated = closed ?? usageHistory.settledFigures(periodKey, tenantKey);
  const current = tenant.current ?? NO_USAGE;
  const floor = roundUpMinCredits(settings.of(tenantId(tenantKey)));
  // A record that the service no longer lists is notified by the rule `withdrawn`.
  const judgement = tenant.withdrawn
    ? clear(true)
    : judgeRestatement({ stated, closed: closed !== null, current, floor });
  return { judgement, previous: stated ?? known?.previous ?? null };
}
