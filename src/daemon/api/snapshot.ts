import { z } from 'zod';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { query } from '../../ledger/store/schema/drizzle.ts';
import { financeFreshness } from '../../ledger/store/schema/finance-views.ts';

/** The state of the ledger that an answer shows. */
export const snapshotSchema = z.strictObject({
  as_of: z
    .string()
    .nullable()
    .describe('the oldest last complete run of the workspaces in question; null if one has none'),
  head_digest: z.string().describe('the head of the digest chain'),
  complete: z.boolean().describe('false if a workspace in question has no complete run, or its last run failed'),
});

export type Snapshot = z.output<typeof snapshotSchema>;

/** Reads the state of the ledger for one workspace or, if `workspaceId` is undefined, for all workspaces. */
export function readSnapshot(connection: LedgerDb, workspaceId: string | undefined): Snapshot {
  const all = query(connection).select().from(financeFreshness).all();
  const read = workspaceId === undefined ? all : all.filter(({ workspace_id }) => workspace_id === workspaceId);
  const times = read.map(({ last_complete_run_at }) => last_complete_run_at ?? '').sort();
  return {
    as_of: times[0] || null,
    head_digest: headOfChain(connection).digest,
    complete:
      read.length > 0 &&
      read.every(({ last_complete_run_at, last_status }) => last_complete_run_at !== null && isSound(last_status)),
  };
}

function isSound(status: string | null): boolean {
  return status === 'applied' || status === 'running';
}
