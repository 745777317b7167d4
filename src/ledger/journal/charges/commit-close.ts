import { hash } from 'node:crypto';
import { CommitTree, SALT_BYTES } from '../../../billing/proof/salted-tree.ts';
import type { Letterhead } from '../../../billing/statement/document.ts';
import { type Randomness, systemRandomness } from '../../../core/randomness.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { letterheads } from '../../store/schema/billing-tables.ts';
import { query } from '../../store/schema/drizzle.ts';
import { periodOfKey } from '../../store/schema/keys.ts';
import { workspaceOfPeriod } from '../../store/subjects.ts';
import type { Commitment, PeriodAtEvent } from '../close/close-period.ts';
import { chargePeriod } from './charge-run.ts';
import { correctByReopen } from './corrections.ts';
import { correctLinesByReopen } from './manual-lines.ts';
import { billedTenants, certificateOf, type PeriodPlace } from './read-billed.ts';
import { assignStatementNumbers } from './statement-numbers.ts';

export function buildCommitTree(connection: LedgerDb, place: PeriodPlace, salt: string): CommitTree {
  const { workspaceId } = workspaceOfPeriod(connection, place.periodKey);
  const period = periodOfKey(place.periodKey);
  const tree = new CommitTree(salt);
  tree.addPeriod({ workspaceId, period, certificate: certificateOf(connection, place) });
  for (const tenant of billedTenants(connection, place)) tree.addTenant(tenant);
  return tree;
}

/** The number format and letterhead of statements. Null: statements without a number, or without a letterhead. */
export interface StatementForm {
  number?: string | null;
  letterhead?: Letterhead | null;
}

function keepLetterhead(connection: LedgerDb, letterhead: Letterhead): string {
  const content = JSON.stringify(letterhead);
  const sha256 = hash('sha256', content, 'hex');
  query(connection).insert(letterheads).values({ sha256, content }).onConflictDoNothing().run();
  return sha256;
}

/**
 * Returns what a close commits to: the root of the tree over the figures, names, charges and corrections that it
 * freezes, with the salt, statement numbers and letterhead.
 */
export function commitClose(
  { connection, periodKey, eventSeq }: PeriodAtEvent,
  randomness: Randomness = systemRandomness,
  { number = null, letterhead = null }: StatementForm = {},
): Commitment {
  const salt = randomness.bytes(SALT_BYTES).toString('hex');
  const place = { periodKey, closedSeq: eventSeq };
  const lastNumber = number === null ? null : assignStatementNumbers(connection, place, number);
  const tree = buildCommitTree(connection, place, salt);
  const head = { numberForm: number, lastNumber, letterhead: letterhead && keepLetterhead(connection, letterhead) };
  return { leaves: tree.leaves, root: tree.root, salt, ...head };
}

/** Prices a reopened period by the current cards and reverses its corrections in other periods. */
export function chargeReopened(reopened: PeriodAtEvent): void {
  chargePeriod(reopened.connection, reopened.periodKey);
  correctByReopen(reopened.connection, reopened);
  correctLinesByReopen(reopened.connection, reopened.periodKey);
}
