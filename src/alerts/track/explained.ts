import { ownKind, usageKind } from '../wording/kinds/table.ts';
import type { StoredAlert } from './alert-rows.ts';
import { readBasis } from './basis.ts';

/** Names the alert that explains another, for a receiver that is told of those which `isTold` says; null: none does. */
export type Explainer = (alert: StoredAlert, isTold: (other: StoredAlert) => boolean) => string | null;

/** A fault of ourselves explains what it keeps from being known; of the same rank they stand side by side. A new id explains a stop, and so does a standstill. */
export function createExplainer(open: readonly StoredAlert[]): Explainer {
  const rankOf = ({ rule }: StoredAlert) => ownKind(rule)?.explains ?? 0;
  const holding = open.filter(({ state }) => state !== 'pending');
  const faults = holding.filter((alert) => rankOf(alert) > 0);
  const newcomers = holding.filter(({ rule, level }) => usageKind(rule)?.rename === 'newcomer' && level === 'likely');
  const renamed = new Map(newcomers.map((alert) => [readBasis(alert.basis).former?.tenantKey ?? null, alert]));
  const halted = holding.find(({ rule }) => usageKind(rule)?.explainsStops === true);
  return (alert, isTold) => {
    // What usage does waits for figures in any case; who hears nothing of the one hears of the other.
    const explaining = faults.find((fault) => rankOf(fault) > rankOf(alert) && (rankOf(alert) === 0 || isTold(fault)));
    if (explaining !== undefined) return explaining.alertId;
    if (usageKind(alert.rule)?.rename !== 'stop' || alert.tenantKey === null) return null;
    const isHalted = alert.level === 'likely' && halted !== undefined && isTold(halted);
    const newId = renamed.get(alert.tenantKey);
    const known = isHalted ? halted : newId !== undefined && isTold(newId) ? newId : null;
    return known?.alertId ?? null;
  };
}
