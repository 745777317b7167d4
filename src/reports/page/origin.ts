import { htmlText } from '../../core/text/html-text.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';

/** What a page was made from, for whoever checks it later. */
export interface PageOrigin {
  /** The workspace's last run that published; null without one. */
  runId: string | null;
  /** The end of the ledger's chain, which `verify` recomputes. */
  head: { seq: number; digest: string };
}

/** The caller holds the read transaction in which the figures are read. */
export function readOrigin(connection: LedgerConnection, workspaceId: string): PageOrigin {
  const runId = connection
    .prepare(
      `SELECT r.run_id FROM runs r JOIN workspaces w USING (workspace_key)
       WHERE w.workspace_id = ? AND r.applied_seq IS NOT NULL ORDER BY r.run_key DESC LIMIT 1`,
    )
    .pluck()
    .get(workspaceId) as string | undefined;
  return { runId: runId ?? null, head: headOfChain(connection) };
}

/** The origin as a paragraph of HTML. */
export function originHtml({ runId, head }: PageOrigin): string {
  const run = runId === null ? 'Made before any run' : `Made from run ${htmlText(runId)}`;
  return `<p class="quiet">${run}, head of the ledger ${htmlText(head.digest)} (link ${head.seq})</p>`;
}
