import { usageKind } from './kinds/table.ts';
import type { Facts } from './notification.ts';

/** What to write below `alerts:` of a workspace, so that an alert like this would have kept quiet; null where no setting does. */
export function quietSetting({ rule, tenant_id, credits, evidence, level }: Facts): string | null {
  const { quietBy, isFall } = usageKind(rule) ?? {};
  if (credits === null || quietBy === undefined) return null;
  if (quietBy === 'min_credits') return ofTenant(tenant_id, `min_credits: ${roundedUp(credits.current + 1n)}`);
  const expected = level === 'likely' ? (evidence.projection?.credits ?? credits.current) : credits.current;
  const [more, less] = isFall === true ? [credits.previous, credits.current] : [expected, credits.previous];
  if (less <= 0n) return null;
  // One tenth more than what it came to.
  return ofTenant(tenant_id, `ratio: ${Number((more * 10n) / less + 1n) / 10}`);
}

function ofTenant(tenantId: string | null, setting: string): string {
  return tenantId === null ? setting : `tenants:\n  - match: ${JSON.stringify(tenantId)}\n    ${setting}`;
}

/** To two digits. */
function roundedUp(credits: bigint): bigint {
  const step = 10n ** BigInt(Math.max(0, String(credits).length - 2));
  return ((credits + step - 1n) / step) * step;
}
