import type { NotificationContent } from './facts.ts';

/** What to write below `alerts:` of a workspace, so that an alert like this would have kept quiet; null where no setting does. */
export function quietSetting({ rule, tenant_id, credits, evidence, level }: NotificationContent): string | null {
  if (credits === null) return null;
  const expected = level === 'likely' ? (evidence.projection?.credits ?? credits.current) : credits.current;
  const [more, less] = rule === 'drop' ? [credits.previous, credits.current] : [expected, credits.previous];
  if (rule === 'new_spend') return ofTenant(tenant_id, `min_credits: ${roundedUp(credits.current + 1n)}`);
  if (!['jump', 'workspace_jump', 'drop'].includes(rule) || less <= 0n) return null;
  // One tenth more than what it came to.
  const ratio = Number((more * 10n) / less + 1n) / 10;
  return ofTenant(rule === 'workspace_jump' ? null : tenant_id, `ratio: ${ratio}`);
}

function ofTenant(tenantId: string | null, setting: string): string {
  return tenantId === null ? setting : `tenants:\n  - match: ${JSON.stringify(tenantId)}\n    ${setting}`;
}

/** To two digits. */
function roundedUp(credits: bigint): bigint {
  const step = 10n ** BigInt(Math.max(0, String(credits).length - 2));
  return ((credits + step - 1n) / step) * step;
}
