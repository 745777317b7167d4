import { MerkleTree } from '../../../billing/proof/merkle.ts';
import type { BilledTenant } from '../../../billing/statement/billed.ts';
import { encodePeriod, encodeTenant, type PeriodLeaf } from '../../../billing/statement/leaf.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { workspaceOf } from '../../store/subjects.ts';
import type { Commitment, PeriodAtEvent } from '../close/close-period.ts';
import { chargePeriod } from './charge-run.ts';
import { correctByReopen } from './corrections.ts';
import { billedTenants, certificateOf, type PeriodPlace } from './read-billed.ts';

/** The tree over all statements of a period, and what was asked for of it. */
export interface StatementTree {
  tree: MerkleTree;
  header: PeriodLeaf;
  /** The tenants that were asked for, with the place of their leaves. */
  chosen: { tenant: BilledTenant; index: number }[];
}

/** Builds the tree: leaf 0 says which period it is, then comes one leaf a tenant, in the byte order of their ids. */
export function buildTree(
  connection: LedgerConnection,
  place: PeriodPlace,
  isChosen: (tenantId: string) => boolean,
): StatementTree {
  const { workspaceId } = workspaceOf(connection, place.periodKey);
  const period = periodOfKey(place.periodKey);
  const header = { workspaceId, period, certificate: certificateOf(connection, place) };
  const tree = new MerkleTree();
  tree.add(encodePeriod(header));
  const chosen: StatementTree['chosen'] = [];
  for (const tenant of billedTenants(connection, place)) {
    const index = tree.add(encodeTenant(tenant));
    if (isChosen(tenant.tenantId)) chosen.push({ tenant, index });
  }
  return { tree, header, chosen };
}

/** What a close commits to: the figures, names, charges and corrections of the period as it freezes them. */
export function commitClose({ connection, periodKey, eventSeq }: PeriodAtEvent): Commitment {
  const { tree } = buildTree(connection, { periodKey, closedSeq: eventSeq }, () => false);
  return { leaves: tree.size, root: tree.root.toString('hex') };
}

/** A reopened period is priced by today's cards again; what was booked about it in others is taken back. */
export function chargeReopened(reopened: PeriodAtEvent): void {
  chargePeriod(reopened.connection, reopened.periodKey);
  correctByReopen(reopened.connection, reopened);
}
