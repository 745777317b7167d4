import { type MuteRow, mutes } from '../../alerts/book/mutes.ts';
import type { RuleName } from '../../alerts/rules/rule.ts';
import { isoTime } from '../../core/clock.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';

/** What a silence or a plan would have kept quiet. */
export interface MutePreview {
  /** News of alerts that was told, and would not have been. */
  news: number;
  alerts: number;
  /** News by rule, the most first. */
  rules: { rule: RuleName; news: number }[];
}

/** What would have been muted of what was told since a moment; in one workspace, or in all (null). */
export function mutePreview(
  connection: LedgerConnection,
  mute: Omit<MuteRow, 'silenceId'>,
  { workspaceId, sinceMs }: { workspaceId: string | null; sinceMs: number },
): MutePreview {
  const told = connection
    .prepare(
      `SELECT a.alert_id AS alertId, a.rule, t.tenant_id AS tenantId, p.period, x.current_credits AS credits
       FROM alert_transitions x JOIN alerts a USING (alert_key) JOIN workspaces w ON w.workspace_key = a.workspace_key
       LEFT JOIN tenants t ON t.tenant_key = a.tenant_key LEFT JOIN periods p ON p.period_key = a.period_key
       WHERE x.silent = 0 AND x.change IN ('fired', 'escalated', 'grown') AND x.at >= ?
         AND (? IS NULL OR w.workspace_id = ?)`,
    )
    .safeIntegers()
    .all(isoTime(sinceMs), workspaceId, workspaceId) as {
    alertId: string;
    rule: RuleName;
    tenantId: string | null;
    period: string | null;
    credits: bigint | null;
  }[];
  const muted = told.filter((subject) => mutes(mute, subject));
  const byRule = new Map<RuleName, number>();
  for (const { rule } of muted) byRule.set(rule, (byRule.get(rule) ?? 0) + 1);
  return {
    news: muted.length,
    alerts: new Set(muted.map(({ alertId }) => alertId)).size,
    rules: [...byRule].sort(([, a], [, b]) => b - a).map(([rule, news]) => ({ rule, news })),
  };
}

/** Whether any tenant fits a pattern in which `*` stands for anything; in one workspace, or in all (null). */
export function anyTenantFits(connection: LedgerConnection, pattern: string, workspaceId: string | null): boolean {
  // In GLOB these would be wildcards, too.
  const glob = pattern.replace(/[?[]/g, (character) => `[${character}]`);
  const found = connection
    .prepare(
      `SELECT 1 FROM tenants JOIN workspaces USING (workspace_key)
       WHERE tenant_id GLOB ? AND (? IS NULL OR workspace_id = ?) LIMIT 1`,
    )
    .get(glob, workspaceId, workspaceId);
  return found !== undefined;
}
