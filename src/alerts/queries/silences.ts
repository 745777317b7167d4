import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { silences } from '../../ledger/store/schema/alert-tables.ts';
import { and, desc, eq, gt, isNull, or, query, sql } from '../../ledger/store/schema/drizzle.ts';
import type { SqlRow } from '../../ledger/store/schema/rows.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';

const COLUMNS = {
  silence_id: silences.silenceId,
  kind: silences.kind,
  workspace_id: workspaces.workspaceId,
  rule: silences.rule,
  tenant: silences.tenant,
  period: silences.period,
  up_to_credits: silences.upToCredits,
  begins_at: silences.beginsAt,
  until: silences.until,
  weekdays: silences.weekdays,
  hours: silences.hours,
  days_of_month: silences.daysOfMonth,
  time_zone: silences.timeZone,
  reason: silences.reason,
  created_by: silences.createdBy,
  created_at: silences.createdAt,
  ended_at: silences.endedAt,
  ended_by: silences.endedBy,
  muted: sql<bigint>`(SELECT count(*) FROM alert_transitions x WHERE x.silent_because = 'silence:' || ${silences.silenceId})`,
};

export type SilenceRow = Omit<SqlRow<typeof silences>, 'silence_key' | 'workspace_key'> & {
  workspace_id: string | null;
  /** Changes of alerts that it has kept quiet. */
  muted: bigint;
};

export interface SilenceFilters {
  now: string;
  all: boolean;
  /** Only what mutes this workspace: silences of its own and of all. */
  workspaceId?: string | undefined;
}

/** Those in force at `now`, or all of them; the latest first. */
export function silenceRows(connection: LedgerConnection, { now, all, workspaceId }: SilenceFilters): SilenceRow[] {
  const ofWorkspace = or(isNull(workspaces.workspaceId), eq(workspaces.workspaceId, workspaceId ?? ''));
  return query(connection)
    .select(COLUMNS)
    .from(silences)
    .leftJoin(workspaces, eq(workspaces.workspaceKey, silences.workspaceKey))
    .where(
      and(
        all ? undefined : and(isNull(silences.endedAt), gt(silences.until, now)),
        workspaceId === undefined ? undefined : ofWorkspace,
      ),
    )
    .orderBy(desc(silences.silenceKey))
    .all();
}
