import { formatMinor } from '../../../core/money.ts';
import { hasCosts } from '../../../ledger/journal/charges/card-store.ts';
import { costPricer } from '../../../ledger/journal/charges/credit-pricer.ts';
import { PACE_CONFIRM_MS, paceIsTelling } from '../../measures/forecast/telling.ts';
import { clear, holds, UNDECIDED, type UsageFigures } from '../../measures/judgement.ts';
import { type Judging, perRun, type TenantFacts } from '../judging/judging.ts';
import type { Said, UsageRule } from '../rule.ts';

/** What a tenant pays and what it costs, in one currency. */
interface Margin {
  currency: string;
  revenueMinor: bigint;
  costMinor: bigint;
}

const costsOf = perRun(({ connection, merged }) => costPricer(connection, merged.run.workspaceId));
const hasAny = perRun(({ connection }) => ({ costs: hasCosts(connection) }));

/** Judges whether a tenant pays less for a month than the provider charges for it: an open month by what it comes to. */
export const margin: UsageRule = {
  candidates(judging, look) {
    if (look.isLate || !hasAny(judging).costs) return null;
    const where =
      'EXISTS (SELECT 1 FROM costs k WHERE k.period_key = cur.period_key AND k.tenant_key = cur.tenant_key)';
    return { where, values: {} };
  },
  ofTenant(judging, tenant): Said | null {
    const { periodKey, tenantKey, current } = tenant;
    if (current === null) return null;
    const { phase } = judging.factsOf(periodKey);
    const now = marginAt(judging, tenant, current.credits);
    if (now === null) return { judgement: clear(true) };
    if (phase.over)
      return { judgement: isLoss(now) ? loses('happened', null) : clear(phase.settled), detail: words(now) };
    const pace = judging.settings.of(judging.tenantId(tenantKey)).paceMinFraction;
    if (!paceIsTelling(phase, pace)) return { judgement: UNDECIDED };
    // Who covers its cost now and in a straight line is not asked for its past.
    const straight = BigInt(Math.round(Number(current.credits) * (phase.lengthMs / phase.elapsedMs)));
    const inLine = marginAt(judging, tenant, straight);
    if (!isLoss(now) && inLine !== null && !isLoss(inLine)) return { judgement: clear(false) };
    const outlook = judging.outlook(periodKey, tenantKey);
    if (outlook === null) return { judgement: UNDECIDED };
    const ends = [outlook.low, outlook.likely, outlook.high].map((credits) => marginAt(judging, tenant, credits));
    if (!ends.every((end) => end !== null && isLoss(end)))
      return { judgement: isAnyLoss(ends) ? UNDECIDED : clear(false) };
    const judgement = loses(isLoss(now) ? 'happened' : 'likely', PACE_CONFIRM_MS);
    return { judgement, forecast: outlook, detail: words(ends[1] ?? now) };
  },
};

function loses(level: 'likely' | 'happened', confirmAfterMs: number | null) {
  return holds({ level, severity: 'warning', threshold: null, confirmAfterMs });
}

/** Null where one of the two has no price, or they have different currencies. Requests come as many a credit as so far. */
function marginAt(judging: Judging, { periodKey, tenantKey, current }: TenantFacts, credits: bigint): Margin | null {
  const { period } = judging.factsOf(periodKey);
  const tenantId = judging.tenantId(tenantKey);
  const requests = requestsAt(current, credits);
  const price = judging.priceOf?.(tenantId, period, credits, requests) ?? null;
  const cost = costsOf(judging)(tenantId, period, credits, requests);
  if (price === null || cost === null || price.currency !== cost.currency) return null;
  return { currency: price.currency, revenueMinor: price.amountMinor, costMinor: cost.amountMinor };
}

function requestsAt(current: UsageFigures | null, credits: bigint): bigint {
  if (current === null) return 0n;
  return current.credits <= 0n ? current.requests : (current.requests * credits) / current.credits;
}

function isLoss({ revenueMinor, costMinor }: Margin): boolean {
  return revenueMinor < costMinor;
}

function isAnyLoss(ends: readonly (Margin | null)[]): boolean {
  return ends.some((end) => end === null || isLoss(end));
}

function words({ currency, revenueMinor, costMinor }: Margin): string {
  return `pays ${formatMinor(revenueMinor, currency)} and costs ${formatMinor(costMinor, currency)} ${currency}`;
}
