import type { AlertState } from '../../core/alert-words.ts';
import type { LedgerConnection } from '../../ledger/file/open.ts';
import { whereClause } from './where.ts';

/** One row of `finance_alerts`. Tenant and period are null for an alert about the workspace or about ourselves. */
export interface AlertRow {
  alert_id: string;
  workspace_id: string;
  tenant_id: string | null;
  period: string | null;
  rule: string;
  stage: string;
  severity: string;
  state: AlertState;
  /** The figures are null for alerts about ourselves. */
  previous_credits: bigint | null;
  current_credits: bigint | null;
  threshold: bigint | null;
  /** Null while it is pending. */
  first_fired_at: string | null;
  last_changed_at: string;
  /** Why nobody was told of the last change; null when somebody was. */
  muted_because: string | null;
}

export interface AlertFilters {
  /** Null: in any state. */
  states: readonly AlertState[] | null;
  workspaceId?: string | undefined;
}

/** The alerts, the ones that changed last first. */
export function alertRows(connection: LedgerConnection, filters: AlertFilters): AlertRow[] {
  const { where, values } = whereClause({ state: filters.states ?? undefined, workspace_id: filters.workspaceId });
  return connection
    .prepare(
      `SELECT alert_id, workspace_id, tenant_id, period, rule, stage, severity, state, previous_credits,
         current_credits, threshold, first_fired_at, last_changed_at, muted_because
       FROM finance_alerts ${where} ORDER BY last_changed_at DESC, alert_id`,
    )
    .safeIntegers()
    .all(...values) as AlertRow[];
}
