import type { LedgerDb } from '../store/ledger-db.ts';
import { periodEvents } from '../store/schema/billing-tables.ts';
import { eq, query } from '../store/schema/drizzle.ts';
import { runs } from '../store/schema/run-tables.ts';
import { acts } from '../store/schema/workspace-tables.ts';

/**
 * Returns the digest and time (ISO-8601 UTC) of the link at a position of the chain: a run, close, reopen or act. Null
 * when the chain has no such link.
 */
export function findLink(connection: LedgerDb, seq: number): { digest: string | null; at: string | null } | null {
  const db = query(connection);
  const run = db.select().from(runs).where(eq(runs.appliedSeq, seq)).get();
  if (run !== undefined) return { digest: run.digest, at: run.finishedAt };
  const event = db.select().from(periodEvents).where(eq(periodEvents.eventSeq, seq)).get();
  return event ?? db.select().from(acts).where(eq(acts.actSeq, seq)).get() ?? null;
}

export function hasLink(connection: LedgerDb, digest: string): boolean {
  const db = query(connection);
  const run = db.select().from(runs).where(eq(runs.digest, digest)).get();
  const event = run ?? db.select().from(periodEvents).where(eq(periodEvents.digest, digest)).get();
  return (event ?? db.select().from(acts).where(eq(acts.digest, digest)).get()) !== undefined;
}
