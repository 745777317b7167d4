import { ALERT_VIEWS } from './alert-views.ts';
import { MONEY_VIEWS } from './money-views.ts';
import { USAGE_VIEWS } from './usage-views.ts';
import type { ViewDescription } from './view-description.ts';

/** The `finance_*` views, which are the public contract of the ledger. docs/ledger.md and the resources of MCP show them. */
export const VIEW_COLUMNS: Readonly<Record<string, ViewDescription>> = {
  ...USAGE_VIEWS,
  ...MONEY_VIEWS,
  ...ALERT_VIEWS,
};
