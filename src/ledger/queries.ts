import { and, desc, eq, isNotNull } from 'drizzle-orm';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import type { LedgerConnection } from './open.ts';
import * as schema from './schema.ts';

const { ledgerMeta, runs, workspaces } = schema;

export type LedgerQueries = BetterSQLite3Database<typeof schema>;

/** Typed queries over a connection, for what is off the hot path: loading them takes longer than a small sync reads. */
export function ledgerQueries(connection: LedgerConnection): LedgerQueries {
  return drizzle(connection, { schema });
}

/** The latest cron slot for which a run of this kind was begun, ISO-8601 UTC; null when there was none. */
export function latestSlot(
  queries: LedgerQueries,
  workspaceId: string,
  kind: 'scheduled' | 'reconcile',
): string | null {
  const row = queries
    .select({ slot: runs.slot })
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    .where(and(eq(workspaces.workspaceId, workspaceId), eq(runs.kind, kind), isNotNull(runs.slot)))
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  return row?.slot ?? null;
}

/** The id that names this ledger's queues. */
export function ledgerId(queries: LedgerQueries): string {
  const row = queries.select().from(ledgerMeta).where(eq(ledgerMeta.name, 'ledger_id')).get();
  if (row === undefined) throw new Error('the ledger has no id');
  return row.value;
}
