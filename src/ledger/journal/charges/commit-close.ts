import { CommitTree, SALT_BYTES } from '../../../billing/proof/salted-tree.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { workspaceOf } from '../../store/subjects.ts';
import type { Commitment, PeriodAtEvent } from '../close/close-period.ts';
import { chargePeriod } from './charge-run.ts';
import { correctByReopen } from './corrections.ts';
import { correctLinesByReopen } from './manual-lines.ts';
import { billedTenants, certificateOf, type PeriodPlace } from './read-billed.ts';

export function buildTree(connection: LedgerConnection, place: PeriodPlace, salt: string): CommitTree {
  const { workspaceId } = workspaceOf(connection, place.periodKey);
  const period = periodOfKey(place.periodKey);
  const tree = new CommitTree(salt);
  tree.addPeriod({ workspaceId, period, certificate: certificateOf(connection, place) });
  for (const tenant of billedTenants(connection, place)) tree.addTenant(tenant);
  return tree;
}

/** What a close commits to: the figures, names, charges and corrections of the period as it freezes them. */
export function commitClose(
  { connection, periodKey, eventSeq }: PeriodAtEvent,
  randomness: Randomness = systemRandomness,
): Commitment {
  const salt = randomness.bytes(SALT_BYTES).toString('hex');
  const tree = buildTree(connection, { periodKey, closedSeq: eventSeq }, salt);
  return { leaves: tree.leaves, root: tree.root, salt };
}

/** A reopened period is priced by today's cards again; what was booked about it in others is taken back. */
export function chargeReopened(reopened: PeriodAtEvent): void {
  chargePeriod(reopened.connection, reopened.periodKey);
  correctByReopen(reopened.connection, reopened);
  correctLinesByReopen(reopened.connection, reopened.periodKey);
}
