import { jumpThreshold } from '../figures/threshold.ts';
import { isInhibitedBy, systemKind, usageKind } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { readSnapshot } from '../state/rule-snapshot.ts';

/** Returns the id of the alert that inhibits another one; null: none. Only alerts for which `isNotified` is true inhibit. */
export type Inhibition = (alert: StoredAlert, isNotified: (other: StoredAlert) => boolean) => string | null;

/**
 * Creates the inhibition by a workspace's open alerts. A system alert inhibits what it prevents from being known: system alerts of
 * a lower rank and all alerts about usage. A tenant's new id and a standstill of the workspace inhibit the tenant's stop. Growth shared by most tenants
 * inhibits the jumps that it accounts for.
 */
export function createInhibition(open: readonly StoredAlert[]): Inhibition {
  const rankOf = ({ rule }: StoredAlert) => systemKind(rule)?.inhibits?.rank ?? 0;
  const holding = open.filter(({ state }) => state !== 'pending');
  const faults = holding.filter((alert) => rankOf(alert) > 0);
  const successors = holding.filter(({ rule, level }) => usageKind(rule)?.inhibits === 'new_id' && level === 'likely');
  const successorOf = new Map(
    successors.map((alert) => [readSnapshot(alert.basis).predecessor?.tenantKey ?? null, alert]),
  );
  const standstill = holding.find(({ rule }) => usageKind(rule)?.inhibits === 'metering_stopped');
  const shared = holding.flatMap((cause): SharedGrowth[] => {
    const growth = usageKind(cause.rule)?.inhibits === 'shared_growth' ? readSnapshot(cause.basis).commonGrowth : null;
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
    // Alerts about usage wait for complete figures on every channel, including those that do not take the fault.
    const fault = faults.find((other) => rankOf(other) > rankOf(alert) && (rankOf(alert) === 0 || isNotified(other)));
    const cause = fault ?? causesOf(alert).find((other) => other !== undefined && isNotified(other));
    return cause?.alertId ?? null;
  };
}

/** An alert about growth shared by most tenants of a workspace, and the growth as a multiple. */
interface SharedGrowth {
  cause: StoredAlert;
  growth: number;
}

/** Reports whether a month would not be a certain jump if the tenant's baseline had grown like most tenants. */
function accountsFor({ cause, growth }: SharedGrowth, { periodKey, current, basis }: StoredAlert): boolean {
  if (cause.periodKey !== periodKey || current === null) return false;
  const { built, forecast } = readSnapshot(basis);
  if (built === null) return false;
  const expected = forecast !== null && forecast.low > current.credits ? forecast.low : current.credits;
  return expected < jumpThreshold(BigInt(Math.round(Number(built.baseline) * growth)), built);
}
