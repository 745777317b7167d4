/**
 * The ledger views that are a public contract, without their prefix `finance_`. A test compares this list with the
 * ledger.
 */
export const FINANCE_VIEWS = [
  ...([
    'adjustments',
    'alert_events',
    'alert_messages',
    'alerts',
    'budgets',
    'charge_lines',
    'charges',
    'closes',
    'daily',
    'freshness',
    'history',
  ] as const),
  ...([
    'lines',
    'margin',
    'month_to_date',
    'outlet_events',
    'period_changes',
    'period_totals',
    'rate_cards',
    'reconciliations',
    'runs',
    'statements',
    'tenants',
    'usage',
  ] as const),
];
