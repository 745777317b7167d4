/** Meanings that columns of several views share. */
export const WORKSPACE = 'The workspace, as in the configuration; in all views.';
export const TENANT = 'The tenant, byte for byte as the service names it; in all views by tenant.';
export const PERIOD = 'The billing month, `YYYY-MM`; in all views by period.';
export const PERIOD_STATE = '`open`, `settling` or `closed` ([states](#the-states-of-a-period)).';
export const AMOUNT = '`amount_minor` as decimal text: `12.50` EUR, `1250` JPY.';
export const AMOUNT_AS_DOUBLE = '`amount` as a double, to sort and filter by. Add up `amount_minor`, by `currency`.';
export const CURRENCY_DIGITS = '2 for EUR, 0 for JPY.';
export const NULL_BEYOND_64_BITS = 'NULL beyond 64 bits.';
export const TENANT_COUNT = 'The number of tenants, see [reconcile](finance.md#reconcile).';
export const CHAIN_LINK = 'The link of the chain.';
/** The text for a column that needs no explanation besides its name. */
export const SELF_EXPLANATORY = '';
