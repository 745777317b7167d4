import type { RuleName } from '../rules/rule.ts';
import type { StoredAlert } from './alert-rows.ts';

/** A fault of ourselves that explains another keeps it quiet; of the same rank they stand side by side. */
const SELF_RANK: Partial<Record<RuleName, number>> = { sync_stale: 1, sync_failed: 2 };

/** Names the fault of ours that explains an alert, for a receiver that is told of those which `isTold` says; null: none does. */
export type Explainer = (alert: StoredAlert, isTold: (fault: StoredAlert) => boolean) => string | null;

export function createExplainer(open: readonly StoredAlert[]): Explainer {
  const rankOf = ({ rule }: StoredAlert) => SELF_RANK[rule] ?? 0;
  const faults = open.filter((alert) => alert.state !== 'pending' && rankOf(alert) > 0);
  return (alert, isTold) => {
    // What usage does waits for figures in any case; who hears nothing of the one fault hears of the other.
    const explaining = faults.filter(
      (fault) => rankOf(fault) > rankOf(alert) && (rankOf(alert) === 0 || isTold(fault)),
    );
    return explaining[0]?.alertId ?? null;
  };
}
