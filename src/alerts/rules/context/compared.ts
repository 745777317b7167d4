import { periodKeyOf, periodOfKey, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import type { Threshold } from '../../figures/threshold.ts';
import type { UsageFigures } from '../../figures/usage-figures.ts';
import type { RuleContext, TenantFacts } from './rule-context.ts';

/**
 * Returns the figures that a period is compared with: the figures of its baseline period, or of the previous month if
 * there is no baseline.
 */
export function comparedFigures(
  periodKey: number,
  built: Threshold | null,
  figuresOf: (periodKey: number) => UsageFigures | null,
): UsageFigures | null {
  const isOther = built !== null && built.period !== periodOfKey(periodKey - 1);
  return figuresOf(isOther ? periodKeyOf(workspaceKeyOf(periodKey), built.period) : periodKey - 1);
}

export function comparedOf(
  context: RuleContext,
  { periodKey, tenantKey, previous }: TenantFacts,
  built: Threshold | null,
): UsageFigures | null {
  return comparedFigures(periodKey, built, (key) => {
    const found = key === periodKey - 1 ? previous : context.read(key, tenantKey).current;
    return found === null ? null : { credits: found.credits, requests: found.requests };
  });
}
