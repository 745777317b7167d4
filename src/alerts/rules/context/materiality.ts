import { minorDigits } from '../../../core/money.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import type { Severity } from '../../../core/text/alert-words.ts';
import { moneySums } from '../../../ledger/store/sum-money.ts';
import type { UsageForecast } from '../../forecast/forecast.ts';
import { holds, type Judgement } from '../judgement.ts';
import { perRun, type RuleContext } from './rule-context.ts';

/** Totals of months by currency, in minor units. */
const moneyOfMonths = perRun(({ connection }: RuleContext) => {
  const sumsOf = moneySums(connection);
  return {
    of: oncePerKey((periodKey: number) => new Map(sumsOf(periodKey).map((sum) => [sum.currency, sum.amountMinor]))),
  };
});

interface Increase {
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
  current: bigint;
  baseline: bigint;
  /** Null for a month that is over, and without a forecast. */
  monthForecast: UsageForecast | null;
}

/**
 * Sets the severity of growth by its value. It is critical if the increase to date, or by the low end of the forecast,
 * is at least `critical_share` of the workspace's previous month: in money if a rate card prices the tenant, otherwise
 * in credits. `critical_amount` replaces the share if it is set and a card prices the tenant. A settled finding is a
 * record and always a warning.
 */
export function byMateriality(context: RuleContext, judgement: Judgement, increase: Increase): Judgement {
  if (judgement.verdict !== 'holds') return judgement;
  const { finding } = judgement;
  const isCritical = finding.level !== 'settled' && isMaterial(context, increase);
  const severity: Severity = isCritical ? 'critical' : 'warning';
  return holds({ ...finding, severity });
}

function isMaterial(
  context: RuleContext,
  { periodKey, tenantKey, current, baseline, monthForecast }: Increase,
): boolean {
  const { settings, tenantId, priceOf, factsOf, total } = context;
  const reached = monthForecast !== null && monthForecast.low > current ? monthForecast.low : current;
  const credits = total(periodKey - 1).figures?.credits ?? 0n;
  const tenant = tenantKey === null ? null : tenantId(tenantKey);
  const { criticalShare, criticalAmount } = tenant === null ? settings.workspace : settings.of(tenant);
  const priced = [reached, baseline].map((used) =>
    tenant === null || priceOf === null ? null : priceOf(tenant, factsOf(periodKey).period, used),
  );
  const [then, before] = priced;
  if (then == null || before == null || then.currency !== before.currency) {
    return Number(reached - baseline) >= criticalShare * Number(credits);
  }
  const { currency } = then;
  const amount = Number(then.amountMinor - before.amountMinor);
  if (criticalAmount > 0) return amount >= criticalAmount * 10 ** minorDigits(currency);
  const month =
    moneyOfMonths(context)
      .of(periodKey - 1)
      .get(currency) ?? 0n;
  return month > 0n
    ? amount >= criticalShare * Number(month)
    : Number(reached - baseline) >= criticalShare * Number(credits);
}
