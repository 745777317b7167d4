import type { LastRun } from '../oracle/freshness.ts';
import type { LedgerView } from '../oracle/ledger-view.ts';
import type { AppliedRun } from '../oracle/published-figures.ts';

interface Published {
  run_key: bigint;
  run_id: string;
  applied_seq: bigint;
  workspace_id: string;
  kind: string;
  from_period: string | null;
  to_period: string | null;
  finished_at: string;
}

const PUBLISHED = `SELECT r.run_key, r.run_id, r.applied_seq, w.workspace_id, r.kind, r.from_period, r.to_period, r.finished_at
  FROM runs r JOIN workspaces w ON w.workspace_key = r.workspace_key WHERE r.applied_seq > ? ORDER BY r.applied_seq`;

/** Follows the runs of one ledger, with the world's times of their beginning and end. */
export class AppliedRuns {
  readonly #published: Map<string, LastRun[]>;
  readonly #began = new Map<bigint, number>();
  #position = 0n;

  /** `published` has those of all ledgers. */
  constructor(published: Map<string, LastRun[]>) {
    this.#published = published;
  }

  /** What is there was applied in another ledger. */
  skip(ledger: LedgerView): void {
    this.#position = ledger.value<bigint | null>('SELECT max(applied_seq) FROM runs') ?? 0n;
  }

  /** Those that were applied since the last look. */
  follow(ledger: LedgerView, nowMs: number, lastLookMs: number): AppliedRun[] {
    for (const { run_key } of ledger.all<{ run_key: bigint }>("SELECT run_key FROM runs WHERE status = 'running'")) {
      if (!this.#began.has(run_key)) this.#began.set(run_key, lastLookMs);
    }
    return ledger.all<Published>(PUBLISHED, this.#position).map((row) => {
      this.#position = row.applied_seq;
      this.of(row.workspace_id).push({ atMs: nowMs, storedMs: Date.parse(row.finished_at) });
      return {
        ...{
          runId: row.run_id,
          workspaceId: row.workspace_id,
          kind: row.kind,
          from: row.from_period,
          to: row.to_period,
        },
        ...{ beganMs: this.#began.get(row.run_key) ?? lastLookMs, endedMs: nowMs },
      };
    });
  }

  of(workspaceId: string): LastRun[] {
    const runs = this.#published.get(workspaceId) ?? [];
    this.#published.set(workspaceId, runs);
    return runs;
  }
}
