import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { Curves } from '../history/curves.ts';
import { budgetLimit } from '../rules/budget.ts';
import { PACE_MIN_ELAPSED_MS } from '../rules/jump.ts';
import { judgePace } from '../rules/pace/pace.ts';
import { usualProjection } from '../rules/pace/rest-part.ts';
import type { Observation } from './observation.ts';

/**
 * Credits that the open period of an alert comes to by its own past, as its rule works them out, at the moment `at` of the last
 * complete run (ISO-8601 UTC); null where the rule looks at the rate so far alone.
 */
export function projectedNow(
  connection: LedgerConnection,
  workspaceKey: number,
  { rule, periodKey, tenantKey, current, threshold: limit, phase }: Observation,
  level: string,
  at: string,
): bigint | null {
  if (periodKey === null || current === null || limit === null || phase === null || phase.over) return null;
  if (phase.elapsedMs < PACE_MIN_ELAPSED_MS) return null;
  const curves = new Curves({ connection, history: connection, workspaceKey, nowMs: Date.parse(at) });
  const curve =
    tenantKey === null
      ? curves.ofTotal(periodKey, (key) => sumUsage(connection, key).creditsUsed)
      : curves.of(periodKey, tenantKey);
  const input = { current: current.credits, limit, phase, curve };
  if (rule === 'budget') {
    const { verdict, projection } = judgePace({ ...input, limit: budgetLimit(limit) });
    return verdict === 'ahead' && current.credits < limit ? projection : null;
  }
  if (rule !== 'jump' && rule !== 'workspace_jump') return null;
  if (current.credits >= limit) return rule === 'jump' ? usualProjection(current.credits, curve) : null;
  return level === 'likely' ? judgePace(input).projection : null;
}
