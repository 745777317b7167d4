import type { Facts } from '../../messages/facts/facts.ts';
import { grouped, named } from '../../messages/facts/names.ts';
import { baselineMonth } from '../../messages/facts/phrases.ts';
import { createJumpMessage } from '../jump/message.ts';

export const workspaceJumpMessage = createJumpMessage(tenantsWords);

/** Returns sentences about the shared growth and the tenants with the largest increase. */
function tenantsWords(facts: Facts): string[] {
  const { tenants, projection } = facts.evidence;
  if (tenants === null) return [];
  const { largest, common_growth: growth } = tenants;
  const month = baselineMonth(facts);
  const [come, far] = projection === null ? ['have reached', ''] : ['will probably reach', ' so far'];
  const names = largest.map(
    ({ tenant_id, current_credits, previous_credits }) =>
      `${named(tenant_id)} ${grouped(current_credits)}${far} (${month} ${grouped(previous_credits)})`,
  );
  const common = `More than half of its tenants ${come} at least ${grouped(Number(growth))} times their ${month}; only larger growth is reported by tenant.`;
  return [growth === null ? '' : common, names.length === 0 ? '' : `Largest increases: ${names.join(', ')}.`];
}
