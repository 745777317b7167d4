import { periodKeyOf, periodOfKey, workspaceKeyOf } from '../../../ledger/store/schema/keys.ts';
import type { UsageFigures } from '../../measures/judgement.ts';
import type { Threshold } from '../../measures/threshold.ts';
import type { Judging, TenantFacts } from './judging.ts';

/**
 * What a period is told beside: the month before, the one that its threshold was built from, or of several the credits that
 * the threshold was built from and the mean of their requests.
 */
export function comparedFigures(
  periodKey: number,
  built: Threshold | null,
  figuresOf: (periodKey: number) => UsageFigures | null,
): UsageFigures | null {
  const before = periodOfKey(periodKey - 1);
  const [single, ...more] = built?.periods ?? [before];
  if (single === undefined) return null;
  if (more.length === 0) return figuresOf(periodKeyOf(workspaceKeyOf(periodKey), single));
  const months = [single, ...more].map((period) => figuresOf(periodKeyOf(workspaceKeyOf(periodKey), period)));
  const requests = months.reduce((sum, month) => sum + (month?.requests ?? 0n), 0n) / BigInt(months.length);
  return { credits: built?.baseline ?? 0n, requests };
}

/** The same of a tenant. */
export function comparedOf(
  judging: Judging,
  { periodKey, tenantKey, previous }: TenantFacts,
  built: Threshold | null,
): UsageFigures | null {
  return comparedFigures(periodKey, built, (key) => {
    const found = key === periodKey - 1 ? previous : judging.read(key, tenantKey).current;
    return found === null ? null : { credits: found.credits, requests: found.requests };
  });
}
