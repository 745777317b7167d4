import { counted } from '../core/text/words.ts';
import type { ClaimedRun } from '../ledger/journal/runs/claim-run.ts';
import type { WalkRecord } from '../ledger/journal/runs/fail-run.ts';
import type { SyncDeps } from './sync-deps.ts';
import { UnverifiedError } from './unverified-error.ts';

/** Shrink detection is off below this many records: small listings vary too much. */
const MIN_RECORDS_FOR_SHRINK_CHECK = 10;

/**
 * Throws UnverifiedError if the listing is empty or lacks a large share of the ledger's records, because a fault of the
 * service is more likely than a real loss.
 */
export async function refuseSuspiciousListing(
  { writer, workspace }: Pick<SyncDeps, 'writer' | 'workspace'>,
  { runKey }: ClaimedRun,
  { facts: { records, keySetDigest } }: WalkRecord,
): Promise<void> {
  const compared = await writer.countMissing({ runKey, keySetDigest });
  if (compared === null || compared.known === 0) return;
  const { known, missing } = compared;
  const ask = 'nothing was applied; check with the service operator whether the workspace really lost its usage';
  if (records === 0) {
    const message = `the service returned no records; the ledger has ${counted(known, 'record')}`;
    throw new UnverifiedError('suspicious_empty', message, {
      hint: ask,
    });
  }
  const share = workspace.suspiciousShrink;
  if (share === 1 || known < MIN_RECORDS_FOR_SHRINK_CHECK || missing < known * share) return;
  throw new UnverifiedError('suspicious_shrink', `the service no longer lists ${missing} of ${known} records`, {
    hint: `${ask}; if it did, let one run pass with \`suspicious_shrink: 1\``,
  });
}
