import { jumpThreshold } from '../figures/threshold.ts';
import { isInhibitedBy, systemKind, usageKind } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { parseSnapshot } from '../state/rule-snapshot.ts';

/**
 * A function that returns the id of the alert that inhibits another one; null if there is none. Only alerts for which
 * `isNotified` is true inhibit, except those that make the figures of the other alert incomplete.
 */
export type InhibitorFinder = (alert: StoredAlert, isNotified: (other: StoredAlert) => boolean) => string | null;

/**
 * Creates the function that finds what inhibits an alert among a workspace's open alerts. A failed sync inhibits system
 * alerts of a lower rank, and all alerts about usage, because their figures are incomplete. The alert that a tenant
 * stopped is inhibited by the alert about the tenant's new id, and by a standstill of the workspace. Growth shared by
 * most tenants inhibits the jumps that it explains.
 */
export function createInhibitorFinder(open: readonly StoredAlert[]): InhibitorFinder {
  const rankOf = ({ rule }: StoredAlert) => systemKind(rule)?.inhibits?.rank ?? 0;
  const holding = open.filter(({ state }) => state !== 'pending');
  const faults = holding.filter((alert) => rankOf(alert) > 0);
  const successors = holding.filter(({ rule, level }) => usageKind(rule)?.inhibits === 'new_id' && level === 'likely');
  const successorOf = new Map(
    successors.map((alert) => [parseSnapshot(alert.basis).predecessor?.tenantKey ?? null, alert]),
  );
  const standstill = holding.find(({ rule }) => usageKind(rule)?.inhibits === 'metering_stopped');
  const shared = holding.flatMap((cause): SharedGrowth[] => {
    const growth = usageKind(cause.rule)?.inhibits === 'shared_growth' ? parseSnapshot(cause.basis).commonGrowth : null;
    return growth === null ? [] : [{ cause, growth }];
  });
  const causesOf = (alert: StoredAlert): (StoredAlert | undefined)[] => {
    if (isInhibitedBy(alert.rule, 'shared_growth')) {
      return shared.filter((growth) => accountsFor(growth, alert)).map(({ cause }) => cause);
    }
    if (!isInhibitedBy(alert.rule, 'new_id') || alert.tenantKey === null) return [];
    return [alert.level === 'likely' ? standstill : undefined, successorOf.get(alert.tenantKey)];
  };
  return (alert, isNotified) => {
    // Alerts about usage wait for complete figures, even on channels that are not notified of the failed sync.
    const fault = faults.find((other) => rankOf(other) > rankOf(alert) && (rankOf(alert) === 0 || isNotified(other)));
    const cause = fault ?? causesOf(alert).find((other) => other !== undefined && isNotified(other));
    return cause?.alertId ?? null;
  };
}

/** An alert about growth shared by most tenants of a workspace, with that growth as a multiple. */
interface SharedGrowth {
  cause: StoredAlert;
  growth: number;
}

/**
 * Reports whether shared growth explains a jump. It does if the tenant's month, by the low end of its forecast, is
 * below the limit that a baseline grown by the same factor would have.
 */
function accountsFor({ cause, growth }: SharedGrowth, { periodKey, current, basis }: StoredAlert): boolean {
  if (cause.periodKey !== periodKey || current === null) return false;
  const { built, forecast } = parseSnapshot(basis);
  if (built === null) return false;
  const expected = forecast !== null && forecast.low > current.credits ? forecast.low : current.credits;
  return expected < jumpThreshold(BigInt(Math.round(Number(built.baseline) * growth)), built);
}
