import type { ListedAlert } from '../../../alerts/queries/alerts.ts';
import { ALERT_STATES, RULES, SEVERITIES } from '../../../core/text/alert-words.ts';
import { type AlertsInput, listAlerts } from '../../../operations/alerts/list-alerts.ts';
import { ALL_ROWS, type Scope } from '../../../operations/operation.ts';
import { pageNumber, textOf } from '../shell/query.ts';

export const ALERTS_PER_PAGE = 50;
export const ALERT_SORTS = ['severity', 'worth', 'newest'] as const;

/** The filters of the list, as read from the page's address. A value that the filter does not offer is ignored. */
export interface AlertFilters {
  state: string | undefined;
  severity: string | undefined;
  rule: string | undefined;
  workspace: string | undefined;
  tenant: string | undefined;
  sort: (typeof ALERT_SORTS)[number];
  page: number;
}

export const ALERT_STATE_CHOICES = ['all', ...ALERT_STATES] as const;

export function readAlertFilters(query: Readonly<Record<string, unknown>>): AlertFilters {
  const text = (name: string): string | undefined => textOf({ query }, name);
  const one = <Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined =>
    choices.find((choice) => choice === text(name));
  return {
    state: one('state', ALERT_STATE_CHOICES),
    severity: one('severity', SEVERITIES),
    rule: one('rule', RULES),
    workspace: text('workspace'),
    tenant: text('tenant'),
    sort: one('sort', ALERT_SORTS) ?? 'severity',
    page: pageNumber({ query }),
  };
}

export interface AlertList {
  alerts: readonly ListedAlert[];
  /** The number of alerts on earlier pages. */
  from: number;
  total: number;
}

/** Reads one page of the alerts. */
export function readAlerts(scope: Scope, { state, sort, page, ...filters }: AlertFilters): AlertList {
  const input = listAlerts.input.parse({
    ...definedOf(filters),
    ...(state === 'all' ? { all: true } : state === undefined ? {} : { state }),
  }) satisfies AlertsInput;
  const { matching } = listAlerts.run(scope, input, ALL_ROWS);
  const sorted = sort === 'severity' ? matching : matching.toSorted(ORDERS[sort]);
  const from = Math.min((page - 1) * ALERTS_PER_PAGE, Math.max(0, sorted.length - 1));
  const first = from - (from % ALERTS_PER_PAGE);
  return { alerts: sorted.slice(first, first + ALERTS_PER_PAGE), from: first, total: sorted.length };
}

const ORDERS = {
  worth: (a: ListedAlert, b: ListedAlert) => descending(worthOf(a), worthOf(b)),
  newest: (a: ListedAlert, b: ListedAlert) => descending(a.first_fired_at ?? '', b.first_fired_at ?? ''),
};

/**
 * Returns the money at stake, to sort by. Alerts without a price come last. Amounts in different currencies are
 * compared as numbers, without conversion.
 */
function worthOf({ at_stake_money: money }: ListedAlert): bigint {
  return money?.amount_minor ?? -1n;
}

function descending<Value extends bigint | string>(a: Value, b: Value): number {
  return a === b ? 0 : a > b ? -1 : 1;
}

function definedOf(fields: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined));
}
