import type { Period } from '../../../core/period.ts';
import { preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import { roundUpMinCredits } from '../../figures/threshold.ts';
import { NO_USAGE } from '../../figures/usage-figures.ts';
import { hasUsedWithinYear } from '../context/habits.ts';
import { byMateriality } from '../context/materiality.ts';
import type { RuleContext, TenantFacts } from '../context/rule-context.ts';
import { isStillSilent } from '../drop/detect.ts';
import { asWarning, clear, holds, type Judgement, type PreviousPeriod, UNDECIDED } from '../judgement.ts';
import type { Detection, OpenAlert, RuleResult } from '../rule.ts';
import { renames } from './renames.ts';

/**
 * Detects tenants without credits in the previous month. They are judged after stopped tenants, because a new tenant
 * may be the new id of a stopped one.
 */
export const newSpendDetection: Detection = {
  candidates: ({ settings }, { facts, isLate }) =>
    facts.previousComplete && !facts.previousIsFirst && !isLate
      ? {
          where: 'coalesce(prev.credits_used, 0) <= 0 AND cur.credits_used >= @floor',
          values: { floor: settings.leastFloor },
        }
      : null,
  ofTenant: judgeNewSpendOfTenant,
};

const hadBefore = preparedSql(
  `SELECT 1 FROM tenant_usage u JOIN periods p USING (period_key)
       LEFT JOIN closed_usage c ON c.period_key = u.period_key AND c.tenant_key = u.tenant_key
       WHERE u.period_key = ? AND u.tenant_key = ?
         AND (u.withdrawn = 1 OR (p.closed_seq IS NOT NULL AND c.credits_used > 0))`,
  'pluck',
);

/** Judges a new tenant, after the stopped ones: it may be the successor of one of them. */
function judgeNewSpendOfTenant(context: RuleContext, tenant: TenantFacts, known: OpenAlert | null): RuleResult {
  const { factsOf, settings, tenantId, connection } = context;
  const { periodKey, tenantKey } = tenant;
  const { phase, previousComplete, previousIsFirst } = factsOf(periodKey);
  const own = settings.of(tenantId(tenantKey));
  const floor = roundUpMinCredits(own);
  const monthForecast = () => (phase.over ? null : context.monthForecast(periodKey, tenantKey));
  const judge = (hadCredits: boolean) =>
    judgeNewSpend({
      current: (tenant.current ?? NO_USAGE).credits,
      previous: { figures: tenant.previous, usable: previousComplete && !previousIsFirst },
      hadCredits,
      floor,
      likely: () => monthForecast()?.likely ?? null,
    });
  const hopeful = judge(false);
  const had = hopeful.verdict === 'holds' && hadBefore(connection).get(periodKey - 1, tenantKey) !== undefined;
  const returns = hopeful.verdict === 'holds' && hasUsedWithinYear(context, tenant);
  const judged = had || returns ? judge(true) : hopeful;
  const forecast = judged.verdict === 'holds' ? monthForecast() : null;
  const judgement = byMateriality(context, judged, {
    periodKey,
    tenantKey,
    current: (tenant.current ?? NO_USAGE).credits,
    baseline: 0n,
    monthForecast: forecast,
  });
  // The predecessor that the open alert names.
  const notified = known?.predecessor() ?? null;
  const found =
    notified !== null && isStillSilent(context, periodKey, notified)
      ? notified
      : renames(context).predecessorOf(tenantKey);
  const predecessor = judgement.verdict === 'holds' ? found : notified;
  return {
    judgement: predecessor === null ? judgement : asWarning(judgement),
    threshold: floor,
    predecessor,
    detail: known === null && judgement.verdict !== 'holds' ? null : backSince(context, tenant),
    forecast,
  };
}

const lastUseOf = preparedSql(
  // The periods of the workspace are read one by one: the index on usage begins with the period, not with the tenant.
  `SELECT p.period FROM periods p CROSS JOIN tenant_usage u ON u.period_key = p.period_key AND u.tenant_key = ?
       WHERE p.period_key < ? AND p.workspace_key = ? AND u.credits_used > 0
       ORDER BY p.period DESC LIMIT 1`,
  'pluck',
);

/** Returns the last month in which the tenant used credits; null if the tenant never used credits before. */
function backSince({ connection }: RuleContext, { periodKey, tenantKey }: TenantFacts): string | null {
  const period = lastUseOf(connection).get(tenantKey, periodKey, workspaceKeyOf(periodKey)) as Period | undefined;
  return period ?? null;
}

export interface NewSpendInput {
  current: bigint;
  /** `usable` means here: the previous period was read completely after its end, and is not the workspace's first. */
  previous: PreviousPeriod;
  /**
   * True if the tenant is not new: its record of the previous period was withdrawn, that period was closed with credits
   * of the tenant, or the tenant used credits in the twelve months before.
   */
  hadCredits: boolean;
  /** Credits below which a new tenant is not notified. */
  floor: bigint;
  /** Returns the forecast of the open period; null without a forecast. Called only if the rule has a finding. */
  likely: () => bigint | null;
}

/**
 * Judges a tenant with credits in a period and none in the previous one. There is no ratio, so only the floor
 * decides. Undecided while the previous period may be incomplete.
 */
export function judgeNewSpend({ current, previous, hadCredits, floor, likely }: NewSpendInput): Judgement {
  if (!previous.usable || hadCredits || (previous.figures?.credits ?? 0n) > 0n) return clear(false);
  if (current > 0n && current >= floor) {
    // The size is the forecast, because the credits of an open month always grow.
    const expected = likely();
    const magnitude = expected !== null && expected > current ? expected : current;
    return holds({ level: 'happened', severity: 'warning', threshold: floor, magnitude });
  }
  return current * 10n < floor * 9n || current <= 0n ? clear(false) : UNDECIDED;
}
