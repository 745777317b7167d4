import type { AlertRuleSettings, AlertSettings } from '../../config/types.ts';
import { matchesPattern } from '../book/patterns.ts';
import { floorCredits } from '../rules/threshold.ts';

/** The settings of each tenant of a workspace, and what is common to all of them. */
export interface TenantSettings {
  of(tenantId: string): AlertRuleSettings;
  /** The workspace's own, for its total. */
  workspace: AlertRuleSettings;
  /** The lowest ratio and the lowest floor (at least 1 credit) of anybody: below both nobody jumps. */
  leastRatio: number;
  leastFloor: bigint;
  /** Nobody is compared with anything but the previous period as it is. */
  plain: boolean;
  /** The fractions of a period from which on a pace is judged, each once. */
  paceFractions: readonly number[];
}

/** The pattern with the most characters wins; of two as long, the one that was written first. */
export function tenantSettings(settings: AlertSettings): TenantSettings {
  const byLength = [...settings.tenants].sort((a, b) => b.match.length - a.match.length);
  const all = [settings, ...settings.tenants.map(({ rules }) => rules)];
  const floors = all.map(floorCredits);
  return {
    of: (tenantId) => byLength.find(({ match }) => matchesPattern(match, tenantId))?.rules ?? settings,
    workspace: settings,
    leastRatio: Math.min(...all.map(({ ratio }) => ratio)),
    leastFloor: floors.reduce((least, floor) => (floor < least ? floor : least), floors[0] ?? 0n) || 1n,
    plain: all.every(({ perDay, baseline }) => !perDay && baseline === 'previous'),
    paceFractions: [...new Set(all.map(({ paceMinFraction }) => paceMinFraction))],
  };
}
