/**
 * The ledger views that form the public contract, without the prefix `finance_`. A test compares them with the ledger.
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
