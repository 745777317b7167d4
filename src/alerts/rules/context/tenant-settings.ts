import type { AlertRuleSettings, AlertSettings, Budget } from '../../../config/types.ts';
import { bySpecificity, matchesPattern } from '../../../core/text/patterns.ts';
import { floorCredits } from '../../figures/threshold.ts';

/** Settings of each tenant of a workspace, and their common bounds. */
export interface TenantSettings {
  of(tenantId: string): AlertRuleSettings;
  /** The workspace's own, for its total. */
  workspace: AlertRuleSettings;
  /** The lowest ratio and floor (at least 1 credit) of any tenant: nothing below both is a jump. */
  leastRatio: number;
  leastFloor: bigint;
  /** Every tenant is compared with the previous period. */
  plain: boolean;
  /** The fractions of a period from which on a pace is judged, each once. */
  paceFractions: readonly number[];
  budgets: readonly Budget[];
}

/** An exact id wins, then the pattern with the most characters; of two as long, the one that was written first. */
export function tenantSettings(settings: AlertSettings): TenantSettings {
  const patterns = [...settings.tenants].sort(bySpecificity(({ match }) => match));
  const all = [settings, ...settings.tenants.map(({ rules }) => rules)];
  const floors = all.map(floorCredits);
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
