import type { Facts } from '../../messages/facts/facts.ts';
import { grouped, named, roundedForecast, signed } from '../../messages/facts/names.ts';
import { baselineMonth } from '../../messages/facts/phrases.ts';
import { createJumpMessage } from '../jump/message.ts';

export const workspaceJumpMessage = createJumpMessage(tenantsWords);

const MAX_LARGEST_TENANTS = 3;

/** Returns sentences about the shared growth and the tenants with the largest increase. */
function tenantsWords(facts: Facts): string[] {
  const { tenants, projection } = facts.evidence;
  if (tenants === null) return [];
  const { largest, common_growth: growth } = tenants;
  const reach = projection === null ? 'have reached' : 'will probably reach';
  const common = `More than half of its tenants ${reach} at least ${grouped(Number(growth))}x ${baselineMonth(facts)}.`;
  const names = largest
    .slice(0, MAX_LARGEST_TENANTS)
    .map((tenant) => `${named(tenant.tenant_id)} ${increase(facts, tenant)}`);
  return [growth === null ? '' : common, names.length === 0 ? '' : `Largest increases: ${names.join(', ')}.`];
}

/** Returns how much a tenant grew. In an open month its credits are scaled up like the workspace's forecast. */
function increase(
  { evidence, credits }: Facts,
  { previous_credits, current_credits }: { previous_credits: bigint; current_credits: bigint },
): string {
  const { projection } = evidence;
  const [used, before] = [BigInt(current_credits), BigInt(previous_credits)];
  const reached = BigInt(credits?.current ?? 0n);
  if (projection === null || reached <= 0n) return signed(used - before);
  return signed(roundedForecast((used * BigInt(projection.credits)) / reached - before));
}
