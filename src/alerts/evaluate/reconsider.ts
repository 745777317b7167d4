import { type Observation, observation } from '../rules/observation.ts';
import { clear, NO_USAGE } from '../rules/rule.ts';
import type { StoredAlert } from '../track/alert-rows.ts';
import { readBasis } from '../track/basis.ts';
import type { TenantFacts } from './candidates.ts';
import type { Judge } from './judge/judge.ts';

/** What the rule of an open alert says of its subject now. */
export function reconsider(
  alert: StoredAlert,
  periodKey: number,
  { judge, read }: { judge: Judge; read: (periodKey: number, tenantKey: number) => TenantFacts },
): Observation {
  const firing = alert.state === 'pending' ? null : alert.level;
  if (alert.tenantKey === null) {
    return alert.rule === 'budget'
      ? (judge.workspaceBudget(periodKey) ?? withoutFigures(alert))
      : judge.workspaceJump(periodKey, firing);
  }
  const tenant = read(periodKey, alert.tenantKey);
  const before = alert.previous ?? NO_USAGE;
  switch (alert.rule) {
    case 'drop':
      return judge.drop(tenant, firing, alert.state === 'pending');
    case 'new_spend':
      return judge.newSpend(tenant, readBasis(alert.basis).former);
    case 'regression':
      return judge.regression(tenant, alert.measure ?? 0n);
    case 'trend':
      return judge.trend(tenant);
    case 'budget':
      return judge.tenantBudget(tenant) ?? withoutFigures(alert);
    case 'restatement':
      return judge.restatement(tenant);
    case 'withdrawn':
      return judge.withdrawn(tenant, before);
    default:
      return judge.jump(tenant, firing);
  }
}

/** What a month that has settled leaves behind: nothing that anybody could still do. */
export function isPast({ rule }: StoredAlert, { phase, judgement }: Observation): boolean {
  if (phase?.settled !== true) return false;
  return rule === 'regression' || (rule === 'budget' && judgement.verdict === 'clear');
}

/** The cause of an alert is gone, and there is nothing to compare. */
export function withoutFigures({ rule, periodKey, tenantKey, cause }: StoredAlert): Observation {
  return observation({ rule, periodKey, tenantKey, cause, judgement: clear(true) });
}
