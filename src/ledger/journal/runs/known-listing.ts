import { createHash } from 'node:crypto';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { and, desc, eq, prepared, query, sql } from '../../store/schema/drizzle.ts';
import { knownListings, runs, walks } from '../../store/schema/run-tables.ts';
import type { KnownListing } from '../staging/staging.ts';
import { hasAbsences } from './absences.ts';
import type { ClaimedRun } from './claim-run.ts';

/** Selects the window of a workspace's last applied run, and the walk (one reading of all pages) that was accepted. */
export const selectLastVerifiedWalk = prepared((db) => {
  const isAccepted = and(eq(walks.runKey, runs.runKey), eq(walks.verdict, 'accepted'));
  return db
    .select({ from: runs.fromPeriod, to: runs.toPeriod, walk: walks })
    .from(runs)
    .innerJoin(walks, isAccepted)
    .where(and(eq(runs.workspaceKey, sql.placeholder('workspaceKey')), eq(runs.status, 'applied')))
    .orderBy(desc(runs.runKey))
    .limit(1);
});

const storedListing = prepared((db) =>
  db
    .select()
    .from(knownListings)
    .where(eq(knownListings.workspaceKey, sql.placeholder('workspaceKey'))),
);

/**
 * Returns the listing that the workspace's last applied run verified for the same window, so that equal pages can be
 * skipped. Returns null if the ledger's figures no longer equal that listing, and for a run of kind `reconcile`, which
 * reads and compares everything.
 */
export function findKnownListing(connection: LedgerDb, run: ClaimedRun, kind: string): KnownListing | null {
  const { workspaceKey, window } = run;
  const stored = storedListing(connection).get({ workspaceKey });
  if (kind === 'reconcile' || stored?.fromPeriod !== window.from || stored.toPeriod !== window.to) return null;
  const { pageDigests } = stored;
  const walk = selectLastVerifiedWalk(connection).get({ workspaceKey })?.walk;
  if (walk?.contentDigest !== createHash('sha256').update(pageDigests).digest('hex')) return null;
  if (hasAbsences(connection, run)) return null;
  const { pages, records, distinctKeys, totalRecords, totalPages, keySetDigest, contentDigest } = walk;
  const facts = {
    pages,
    records,
    distinctKeys,
    totalRecords,
    totalPages,
    totalsMoved: false,
    recordsOutsideWindow: 0,
    shortPages: 0,
    repeatedPages: 0,
    sameKeysAsPrevious: true,
    keySetDigest,
    contentDigest,
    unchanged: true,
  };
  return { pageDigests, facts };
}

export function storeListing(
  connection: LedgerDb,
  { workspaceKey, window: { from, to } }: ClaimedRun,
  pageDigests: Buffer,
): void {
  const listing = { fromPeriod: from, toPeriod: to, pageDigests };
  query(connection)
    .insert(knownListings)
    .values({ workspaceKey, ...listing })
    .onConflictDoUpdate({ target: knownListings.workspaceKey, set: listing })
    .run();
}
