import { jumpThreshold } from '../figures/threshold.ts';
import { isInhibitedBy, systemKind, usageKind } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { readBasis } from '../state/rule-snapshot.ts';

/** Names the alert that explains another, for a receiver that is told of those which `isTold` says; null: none does. */
export type Explainer = (alert: StoredAlert, isTold: (other: StoredAlert) => boolean) => string | null;

/**
 * A fault of ourselves explains what it keeps from being known; of the same rank they stand side by side. A new id explains a
 * stop, and so does a standstill. What most tenants of a workspace have grown by explains the jump of one that goes no further.
 */
export function createExplainer(open: readonly StoredAlert[]): Explainer {
  const rankOf = ({ rule }: StoredAlert) => systemKind(rule)?.inhibits?.rank ?? 0;
  const holding = open.filter(({ state }) => state !== 'pending');
  const faults = holding.filter((alert) => rankOf(alert) > 0);
  const newcomers = holding.filter(({ rule, level }) => usageKind(rule)?.inhibits === 'new_id' && level === 'likely');
  const renamed = new Map(newcomers.map((alert) => [readBasis(alert.basis).former?.tenantKey ?? null, alert]));
  const halted = holding.find(({ rule }) => usageKind(rule)?.inhibits === 'metering_stopped');
  const shared = holding.flatMap((cause): Common[] => {
    const growth = usageKind(cause.rule)?.inhibits === 'shared_growth' ? readBasis(cause.basis).commonGrowth : null;
    return growth === null ? [] : [{ cause, growth }];
  });
  const causesOf = (alert: StoredAlert): (StoredAlert | undefined)[] => {
    if (isInhibitedBy(alert.rule, 'shared_growth'))
      return shared.filter((common) => isCommon(alert, common)).map(({ cause }) => cause);
    if (!isInhibitedBy(alert.rule, 'new_id') || alert.tenantKey === null) return [];
    return [alert.level === 'likely' ? halted : undefined, renamed.get(alert.tenantKey)];
  };
  return (alert, isTold) => {
    // What usage does waits for figures in any case; who hears nothing of the one hears of the other.
    const explaining = faults.find((fault) => rankOf(fault) > rankOf(alert) && (rankOf(alert) === 0 || isTold(fault)));
    const cause = explaining ?? causesOf(alert).find((other) => other !== undefined && isTold(other));
    return cause?.alertId ?? null;
  };
}

/** By how many times most tenants have grown, and the alert that says so. */
interface Common {
  cause: StoredAlert;
  growth: number;
}

/** Whether a month is not sure to be a jump, had its tenant used as much more the month before as most have grown by. */
function isCommon({ periodKey, current, basis }: StoredAlert, { cause, growth }: Common): boolean {
  if (cause.periodKey !== periodKey || current === null) return false;
  const { built, forecast } = readBasis(basis);
  if (built === null) return false;
  const comes = forecast !== null && forecast.low > current.credits ? forecast.low : current.credits;
  return comes < jumpThreshold(BigInt(Math.round(Number(built.baseline) * growth)), built);
}
