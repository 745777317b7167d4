import { type Ledger, messages } from '../../support/messages.ts';

export const FIVE = ['a', 'b', 'c', 'd', 'e'];

/** What reached the receiver, each message once: a group, or what no group carries. */
export function heard(ledger: Ledger) {
  return messages(ledger).flatMap(({ state, payload }) => (state === 'delivered' ? [payload] : []));
}

export const heardOf = (ledger: Ledger) =>
  heard(ledger)
    .filter(({ rule }) => rule === 'jump')
    .map(({ event, tenant_id, alerts }) => [event, ...(alerts?.map(tenantOf) ?? [tenant_id])].join(' '));

const tenantOf = (each: { tenant_id: string }) => each.tenant_id;
