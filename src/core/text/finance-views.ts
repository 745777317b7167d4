/** The views of the ledger that are the public contract, without their `finance_`; a test holds them against the ledger. */
export const FINANCE_VIEWS = [
  ...([
    'adjustments',
    'alert_events',
    'alert_messages',
    'alerts',
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
    'reconciliations',
    'runs',
    'tenants',
    'usage',
  ] as const),
];
