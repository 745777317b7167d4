import { htmlText } from '../../core/text/html-text.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { and, desc, eq, isNotNull, query } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';

export interface PageOrigin {
  runId: string | null;
  /** The end of the ledger's chain, which `verify` recomputes. */
  head: { seq: number; digest: string };
}

/** The caller holds the read transaction in which the figures are read. */
export function readOrigin(connection: LedgerConnection, workspaceId: string): PageOrigin {
  const applied = query(connection)
    .select({ runId: runs.runId })
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    .where(and(eq(workspaces.workspaceId, workspaceId), isNotNull(runs.appliedSeq)));
  const last = applied.orderBy(desc(runs.runKey)).limit(1).get();
  return { runId: last?.runId ?? null, head: headOfChain(connection) };
}

export function originHtml({ runId, head }: PageOrigin): string {
  const run = runId === null ? 'Made before any run' : `Made from run ${htmlText(runId)}`;
  return `<p class="quiet">${run}, head of the ledger ${htmlText(head.digest)} (link ${head.seq})</p>`;
}
