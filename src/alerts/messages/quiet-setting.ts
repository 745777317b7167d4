import { usageKind } from '../rules/rules.ts';
import type { Facts } from './facts/facts.ts';
import { roundedUp } from './facts/names.ts';
import { monthCredits } from './facts/phrases.ts';

/** Returns the workspace setting below `alerts:` that would have suppressed an alert; null if no setting does. */
export function quietSetting(facts: Facts): string | null {
  const { rule, tenant_id, credits } = facts;
  const { of: stakeOf, setting } = usageKind(rule)?.stake ?? {};
  if (credits === null || setting === undefined) return null;
  if (setting === 'min_credits') return ofTenant(tenant_id, `min_credits: ${roundedUp(credits.current + 1n)}`);
  const [more, less] =
    stakeOf === 'fall' ? [credits.previous, credits.current] : [monthCredits(facts), credits.previous];
  if (less <= 0n) return null;
  // The observed ratio, rounded down to tenths, plus a tenth.
  return ofTenant(tenant_id, `ratio: ${Number((more * 10n) / less + 1n) / 10}`);
}

function ofTenant(tenantId: string | null, setting: string): string {
  return tenantId === null ? setting : `tenants:\n  - match: ${JSON.stringify(tenantId)}\n    ${setting}`;
}
