import { formatMinor } from '../../../core/money.ts';
import type { Period } from '../../../core/period.ts';
import { hasCosts } from '../../../ledger/journal/charges/card-store.ts';
import { costPricer } from '../../../ledger/journal/charges/credit-pricer.ts';
import type { PeriodPhase } from '../../figures/period-phase.ts';
import type { UsageFigures } from '../../figures/usage-figures.ts';
import { canJudgePace, PACE_CONFIRMATION_MS } from '../../forecast/pace.ts';
import type { PeriodLook } from '../context/candidates.ts';
import { perRun, type RuleContext, type TenantFacts } from '../context/rule-context.ts';
import { clear, holds, UNDECIDED } from '../judgement.ts';
import type { Detection, RuleResult } from '../rule.ts';

/** Revenue and cost of a tenant, in one currency. */
interface TenantMargin {
  currency: string;
  revenueMinor: bigint;
  costMinor: bigint;
}

interface Used {
  tenantId: string;
  period: Period;
  current: UsageFigures;
}

const costsOf = perRun(({ connection, merged }) => costPricer(connection, merged.run.workspaceId));

/** Detects tenants that pay less for a month than the provider charges: for an open month by its forecast. */
export const marginDetection: Detection = {
  inPeriod: (context, look) => (look.isLate || !hasCosts(context.connection) ? [] : findLosses(context, look)),
  ofTenant: judgeMarginOfTenant,
};

/**
 * Returns the tenants that pay less than they cost, either now or if their usage continues in a straight line. The
 * usage history is read only for these tenants. Rows are streamed, because a period may have a million.
 */
function findLosses(context: RuleContext, { facts: { periodKey, period, phase }, all }: PeriodLook): number[] {
  const rows = context.connection
    .prepare(
      `SELECT u.tenant_key, t.tenant_id, u.credits_used, u.request_count FROM tenant_usage u JOIN tenants t USING (tenant_key)
       WHERE u.period_key = ? AND u.withdrawn = 0 ${all ? '' : 'AND u.changed_run_key = ?'}`,
    )
    .safeIntegers()
    .raw()
    .iterate(...[periodKey, ...(all ? [] : [context.merged.run.runKey])]);
  const found: number[] = [];
  for (const [tenantKey, tenantId, credits, requests] of rows as Iterable<[bigint, string, bigint, bigint]>) {
    const used = { tenantId, period, current: { credits, requests } };
    if ([credits, extrapolate(credits, phase)].some((at) => isLoss(marginAt(context, used, at))))
      found.push(Number(tenantKey));
  }
  return found;
}

function judgeMarginOfTenant(context: RuleContext, { periodKey, tenantKey, current }: TenantFacts): RuleResult | null {
  if (current === null) return null;
  const { phase, period } = context.factsOf(periodKey);
  const tenantId = context.tenantId(tenantKey);
  const marginOf = (credits: bigint) => marginAt(context, { tenantId, period, current }, credits);
  const now = marginOf(current.credits);
  if (now === null) return { judgement: clear(true) };
  if (phase.over)
    return { judgement: isLoss(now) ? loses('happened', null) : clear(phase.settled), detail: words(now) };
  if (!canJudgePace(phase, context.settings.of(tenantId).paceMinFraction)) return { judgement: UNDECIDED };
  const monthForecast = context.monthForecast(periodKey, tenantKey);
  if (monthForecast === null) return { judgement: UNDECIDED };
  const ends = [monthForecast.low, monthForecast.likely, monthForecast.high].map(marginOf);
  if (!ends.some(isLoss)) return { judgement: clear(false) };
  if (!ends.every(isLoss)) return { judgement: UNDECIDED };
  const judgement = loses(isLoss(now) ? 'happened' : 'likely', PACE_CONFIRMATION_MS);
  return { judgement, forecast: monthForecast, detail: words(ends[1] ?? now) };
}

function loses(level: 'likely' | 'happened', confirmAfterMs: number | null) {
  return holds({ level, severity: 'warning', threshold: null, confirmAfterMs });
}

/** Extrapolates credits to the end of the period in a straight line. */
function extrapolate(credits: bigint, { over, lengthMs, elapsedMs }: PeriodPhase): bigint {
  return over || elapsedMs <= 0 ? credits : BigInt(Math.round(Number(credits) * (lengthMs / elapsedMs)));
}

/** Computes the margin; null without both prices in one currency. Requests grow in proportion to credits. */
function marginAt(context: RuleContext, { tenantId, period, current }: Used, credits: bigint): TenantMargin | null {
  const requests = current.credits <= 0n ? current.requests : (current.requests * credits) / current.credits;
  const price = context.priceOf?.(tenantId, period, credits, requests) ?? null;
  const cost = costsOf(context)(tenantId, period, credits, requests);
  if (price === null || cost === null || price.currency !== cost.currency) return null;
  return { currency: price.currency, revenueMinor: price.amountMinor, costMinor: cost.amountMinor };
}

function isLoss(margin: TenantMargin | null): boolean {
  return margin !== null && margin.revenueMinor < margin.costMinor;
}

function words({ currency, revenueMinor, costMinor }: TenantMargin): string {
  return `pays ${formatMinor(revenueMinor, currency)} and costs ${formatMinor(costMinor, currency)} ${currency}`;
}
