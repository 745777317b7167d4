import { SALT_BYTES } from '../../../billing/proof/close-salt.ts';
import type { BilledTenant } from '../../../billing/statement/billed.ts';
import { type CommitTree, createCommitTree } from '../../../billing/statement/commit-tree.ts';
import type { PeriodLeaf } from '../../../billing/statement/leaf.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { workspaceOf } from '../../store/subjects.ts';
import type { Commitment, PeriodAtEvent } from '../close/close-period.ts';
import { chargePeriod } from './charge-run.ts';
import { correctByReopen } from './corrections.ts';
import { billedTenants, certificateOf, type PeriodPlace } from './read-billed.ts';

/** The tree over all statements of a period, and what was asked for of it. */
export interface StatementTree {
  tree: CommitTree;
  header: PeriodLeaf;
  /** The tenants that were asked for, each with its place among all. */
  chosen: { tenant: BilledTenant; place: number }[];
}

/** Builds the tree of a close with this salt, null for one from before closes were salted. */
export function buildTree(
  connection: LedgerConnection,
  place: PeriodPlace,
  salt: string | null,
  isChosen: (tenantId: string) => boolean,
): StatementTree {
  const { workspaceId } = workspaceOf(connection, place.periodKey);
  const period = periodOfKey(place.periodKey);
  const header = { workspaceId, period, certificate: certificateOf(connection, place) };
  const tree = createCommitTree(salt);
  tree.addPeriod(header);
  const chosen: StatementTree['chosen'] = [];
  for (const tenant of billedTenants(connection, place)) {
    if (isChosen(tenant.tenantId)) chosen.push({ tenant, place: tree.leaves - 1 });
    tree.addTenant(tenant);
  }
  return { tree, header, chosen };
}

/** What a close commits to: the figures, names, charges and corrections of the period as it freezes them. */
export function commitClose(
  { connection, periodKey, eventSeq }: PeriodAtEvent,
  randomness: Randomness = systemRandomness,
): Commitment {
  const salt = randomness.bytes(SALT_BYTES).toString('hex');
  const { tree } = buildTree(connection, { periodKey, closedSeq: eventSeq }, salt, () => false);
  return { leaves: tree.leaves, root: tree.root, salt };
}

/** A reopened period is priced by today's cards again; what was booked about it in others is taken back. */
export function chargeReopened(reopened: PeriodAtEvent): void {
  chargePeriod(reopened.connection, reopened.periodKey);
  correctByReopen(reopened.connection, reopened);
}
