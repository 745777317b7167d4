import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { query } from '../../store/query.ts';
import { walks } from '../../store/schema/run-tables.ts';
import type { WalkFacts } from '../staging/staging.ts';

/** `accepted`: proven complete. `moved`: the listing changed under it. `unconfirmed`: another walk must agree first. */
export type WalkVerdict = (typeof walks.$inferSelect)['verdict'];

/** A walk with what was made of it. */
export interface WalkRecord {
  walkNumber: number;
  startedAtMs: number;
  finishedAtMs: number;
  facts: WalkFacts;
  verdict: WalkVerdict;
  /** Stable names of the signs of movement that were seen, see src/sync/prove.ts. */
  signs: readonly string[];
}

/** Stores the certificate of a walk, whether it was accepted or not. */
export function recordWalk(connection: Database.Database, runKey: number, walk: WalkRecord): void {
  const { walkNumber, facts, verdict, signs } = walk;
  const { pages, records, distinctKeys, totalRecords, totalPages, keySetDigest, contentDigest } = facts;
  query(connection)
    .insert(walks)
    .values({
      runKey,
      walkNumber,
      startedAt: isoTime(walk.startedAtMs),
      finishedAt: isoTime(walk.finishedAtMs),
      pages,
      records,
      distinctKeys,
      totalRecords,
      totalPages,
      keySetDigest,
      contentDigest,
      verdict,
      signs: JSON.stringify(signs),
    })
    .run();
}
