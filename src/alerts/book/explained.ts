import type { RuleName } from '../rules/rule.ts';
import type { StoredAlert } from './alert-rows.ts';

/** A fault of ourselves that explains another keeps it quiet; of the same rank they stand side by side. */
const SELF_RANK: Partial<Record<RuleName, number>> = { sync_stale: 1, sync_failed: 2 };

/** Returns what names the fault of ours that explains an alert; null when none does. */
export function createExplainer(open: readonly StoredAlert[]): (alert: StoredAlert) => string | null {
  const rankOf = ({ rule }: StoredAlert) => SELF_RANK[rule] ?? 0;
  const faults = open.filter((alert) => alert.state !== 'pending' && rankOf(alert) > 0);
  return (alert) => faults.find((fault) => rankOf(fault) > rankOf(alert))?.alertId ?? null;
}
