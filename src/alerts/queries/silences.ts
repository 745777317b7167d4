import { isoTime } from '../../core/clock.ts';
import type { RuleName } from '../../core/text/alert-words.ts';
import { isActiveAt, type TimeIntervals } from '../../core/time-intervals.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alerts, alertTransitions, silences } from '../../ledger/store/schema/alert-tables.ts';
import {
  and,
  desc,
  eq,
  gt,
  gte,
  inArray,
  isNull,
  or,
  query,
  type SQL,
  sql,
} from '../../ledger/store/schema/drizzle.ts';
import type { SqlRow } from '../../ledger/store/schema/rows.ts';
import { periods, tenants, workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { type SilencePattern, silenceCovers } from '../pipeline/silence.ts';
import { NOTIFIABLE_CHANGES } from '../state/alert-change.ts';

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
  /** Number of alert changes that the silence has muted. */
  muted: bigint;
};

export interface SilenceFilters {
  now: string;
  all: boolean;
  /** Restricts the list to silences that affect this workspace: its own and those of all workspaces. */
  workspaceId?: string | undefined;
}

/** Returns the silences and plans that are active at `now`, or all of them; latest first. */
export function findSilences(connection: LedgerDb, { now, all, workspaceId }: SilenceFilters): SilenceRow[] {
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

/** The past notifications that a silence would have suppressed. */
export interface SilencePreview {
  /** The number of notifications. */
  notifications: number;
  /** The number of alerts that they were about. */
  alerts: number;
  /** Notifications by rule, the most frequent first. */
  rules: { rule: RuleName; notifications: number }[];
}

/** Counts the notifications since a moment that a silence would have suppressed. A null workspace means all of them. */
export function previewSilence(
  connection: LedgerDb,
  mute: SilencePattern & { times: TimeIntervals },
  { workspaceId, sinceMs }: { workspaceId: string | null; sinceMs: number },
): SilencePreview {
  const { silent, change, at, currentCredits: credits } = alertTransitions;
  const { alertId, rule } = alerts;
  const isNotified = and(eq(silent, 0), inArray(change, NOTIFIABLE_CHANGES), gte(at, isoTime(sinceMs)));
  const sent = query(connection)
    .select({ alertId, rule, tenantId: tenants.tenantId, period: periods.period, credits, at })
    .from(alertTransitions)
    .innerJoin(alerts, eq(alerts.alertKey, alertTransitions.alertKey))
    .innerJoin(workspaces, eq(workspaces.workspaceKey, alerts.workspaceKey))
    .leftJoin(tenants, eq(tenants.tenantKey, alerts.tenantKey))
    .leftJoin(periods, eq(periods.periodKey, alerts.periodKey))
    .where(and(isNotified, isIn(workspaceId)))
    .all();
  const muted = sent.filter(
    (subject) => silenceCovers(mute, subject) && isActiveAt(mute.times, Date.parse(subject.at)),
  );
  const byRule = new Map<RuleName, number>();
  for (const { rule } of muted) byRule.set(rule, (byRule.get(rule) ?? 0) + 1);
  return {
    notifications: muted.length,
    alerts: new Set(muted.map(({ alertId }) => alertId)).size,
    rules: [...byRule].sort(([, a], [, b]) => b - a).map(([rule, notifications]) => ({ rule, notifications })),
  };
}

/** Reports whether any tenant matches a pattern, in which `*` matches anything. A null workspace means all of them. */
export function hasMatchingTenant(connection: LedgerDb, pattern: string, workspaceId: string | null): boolean {
  // `?` and `[` are wildcards in SQLite's GLOB but not in our patterns, so they are escaped.
  const glob = pattern.replace(/[?[]/g, (character) => `[${character}]`);
  const found = query(connection)
    .select()
    .from(tenants)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, tenants.workspaceKey))
    .where(and(sql`${tenants.tenantId} GLOB ${glob}`, isIn(workspaceId)))
    .limit(1)
    .get();
  return found !== undefined;
}

function isIn(workspaceId: string | null): SQL | undefined {
  return workspaceId === null ? undefined : eq(workspaces.workspaceId, workspaceId);
}
