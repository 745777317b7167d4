import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { silences } from '../../ledger/store/schema/alert-tables.ts';
import type { Exact, SqlRow } from '../../ledger/store/schema/rows.ts';

/** A silence or a plan. */
export type SilenceRow = Omit<Exact<SqlRow<typeof silences>>, 'silence_key' | 'workspace_key'> & {
  /** Null: every workspace. */
  workspace_id: string | null;
  /** Changes of alerts that it has kept quiet. */
  muted: bigint;
};

export interface SilenceFilters {
  /** ISO-8601 UTC. */
  now: string;
  /** Also those that have ended. */
  all: boolean;
  /** Only what mutes this workspace: silences of its own and of all. */
  workspaceId?: string | undefined;
}

/** Those in force at `now`, or all of them; the latest first. */
export function silenceRows(connection: LedgerConnection, { now, all, workspaceId }: SilenceFilters): SilenceRow[] {
  return connection
    .prepare(
      `SELECT s.silence_id, s.kind, w.workspace_id, s.rule, s.tenant, s.period, s.up_to_credits, s.until, s.reason,
         s.created_by, s.created_at, s.ended_at, s.ended_by,
         (SELECT count(*) FROM alert_transitions x WHERE x.silent_because = 'silence:' || s.silence_id) AS muted
       FROM silences s LEFT JOIN workspaces w USING (workspace_key)
       WHERE (@all OR (s.ended_at IS NULL AND s.until > @now))
         AND (@workspaceId IS NULL OR w.workspace_id IS NULL OR w.workspace_id = @workspaceId) ORDER BY s.silence_key DESC`,
    )
    .safeIntegers()
    .all({ now, all: all ? 1 : 0, workspaceId: workspaceId ?? null }) as SilenceRow[];
}
