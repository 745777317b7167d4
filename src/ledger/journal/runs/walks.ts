import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import type { walks } from '../../store/schema/run-tables.ts';
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
  const { facts } = walk;
  connection
    .prepare(
      `INSERT INTO walks (run_key, walk_number, started_at, finished_at, pages, records, distinct_keys, total_records,
         total_pages, key_set_digest, content_digest, verdict, signs)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      runKey,
      walk.walkNumber,
      isoTime(walk.startedAtMs),
      isoTime(walk.finishedAtMs),
      facts.pages,
      facts.records,
      facts.distinctKeys,
      facts.totalRecords,
      facts.totalPages,
      facts.keySetDigest,
      facts.contentDigest,
      walk.verdict,
      JSON.stringify(walk.signs),
    );
}
