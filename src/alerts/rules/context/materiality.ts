import { minorDigits } from '../../../core/money.ts';
import { oncePerKey } from '../../../core/one-at-a-time.ts';
import type { Severity } from '../../../core/text/alert-words.ts';
import { moneySumReader } from '../../../ledger/store/sum-money.ts';
import type { UsageForecast } from '../../forecast/forecast.ts';
import { holds, type Judgement } from '../judgement.ts';
import { perRun, type RuleContext } from './rule-context.ts';

/** The amount of each month by currency, in minor units. */
const moneyOfMonths = perRun(({ connection }: RuleContext) => {
  const sumsOf = moneySumReader(connection);
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
 * Sets the severity of growth by its size. Growth is critical if the increase to date, or by the low end of the
 * forecast, is at least `critical_share` of the workspace's previous month: in money if a rate card prices the tenant,
 * otherwise in credits. `critical_amount` replaces the share if it is set and a card prices the tenant. A finding about
 * a settled month is a record, and always a warning.
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
  const { settings, tenantId, total } = context;
  const reached = monthForecast !== null && monthForecast.low > current ? monthForecast.low : current;
  const money = tenantKey === null ? null : moneyOfIncrease(context, { periodKey, tenantKey }, [baseline, reached]);
  const { criticalShare, criticalAmount } = tenantKey === null ? settings.workspace : settings.of(tenantId(tenantKey));
  if (money !== null && criticalAmount > 0)
    return money.amountMinor >= criticalAmount * 10 ** minorDigits(money.currency);
  const before = periodKey - 1;
  const month = money === null ? 0n : (moneyOfMonths(context).of(before).get(money.currency) ?? 0n);
  if (money !== null && month > 0n) return money.amountMinor >= criticalShare * Number(month);
  return Number(reached - baseline) >= criticalShare * Number(total(before).figures?.credits ?? 0n);
}

/** Returns what an increase of a tenant's credits costs in a period, in minor units; null if no rate card prices it. */
export function moneyOfIncrease(
  { priceOf, tenantId, factsOf }: RuleContext,
  { periodKey, tenantKey }: { periodKey: number; tenantKey: number },
  [from, to]: readonly [bigint, bigint],
): { currency: string; amountMinor: number } | null {
  const priced = [from, to].map(
    (credits) => priceOf?.(tenantId(tenantKey), factsOf(periodKey).period, credits) ?? null,
  );
  const [before, after] = priced;
  if (before == null || after == null) return null;
  return { currency: after.currency, amountMinor: Number(after.amountMinor - before.amountMinor) };
}
