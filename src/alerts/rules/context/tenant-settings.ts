import type { AlertRuleSettings, AlertSettings, Budget } from '../../../config/types.ts';
import { bySpecificity, matchesPattern } from '../../../core/text/patterns.ts';
import { roundUpMinCredits } from '../../figures/threshold.ts';

/** The alert settings of each tenant, and the lowest limits among them. */
export interface TenantSettings {
  of(tenantId: string): AlertRuleSettings;
  /** The workspace's settings, which apply to its total. */
  workspace: AlertRuleSettings;
  /**
   * The lowest ratio and the lowest floor (at least 1 credit) of any tenant. Usage below both limits is no jump for any
   * tenant.
   */
  leastRatio: number;
  leastFloor: bigint;
  /** True if every tenant is compared with the previous period. */
  plain: boolean;
  /** The distinct fractions of an open period that must have passed before it is forecast. */
  paceFractions: readonly number[];
  budgets: readonly Budget[];
}

/**
 * Finds each tenant's settings. The most specific match is used: an exact id, then the longest pattern, then the one
 * that is written first.
 */
export function tenantSettings(settings: AlertSettings): TenantSettings {
  const patterns = [...settings.tenants].sort(bySpecificity(({ match }) => match));
  const all = [settings, ...settings.tenants.map(({ rules }) => rules)];
  const floors = all.map(roundUpMinCredits);
  return {
    of: (tenantId) => patterns.find(({ match }) => matchesPattern(match, tenantId))?.rules ?? settings,
    workspace: settings,
    leastRatio: Math.min(...all.map(({ ratio }) => ratio)),
    leastFloor: floors.reduce((least, floor) => (floor < least ? floor : least), floors[0] ?? 0n) || 1n,
    plain: all.every(({ baseline }) => baseline === 'previous'),
    budgets: settings.budgets ?? [],
    paceFractions: [...new Set(all.map(({ paceMinFraction }) => paceMinFraction))],
  };
}
