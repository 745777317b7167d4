import { acknowledgeAlert } from './alerts/acknowledge-alert.ts';
import { addPlan, addSilence } from './alerts/add-silence.ts';
import { backtestSettings } from './alerts/backtest-settings.ts';
import { endSilence } from './alerts/end-silence.ts';
import { labelAlert } from './alerts/label-alert.ts';
import { listAlerts } from './alerts/list-alerts.ts';
import { listSilences } from './alerts/list-silences.ts';
import { listUndelivered, replayMessages } from './alerts/replay-messages.ts';
import { explainAlert, showAlert } from './alerts/show-alert.ts';
import { testChannel } from './alerts/test-channel.ts';
import { addLine } from './lines/add-line.ts';
import { listLines } from './lines/list-lines.ts';
import { revokeLine } from './lines/revoke-line.ts';
import { closeMonth, closeMonths } from './months/close-month.ts';
import { compareMonths, listMonths } from './months/list-months.ts';
import { planMonth } from './months/plan-month.ts';
import { reopenMonth } from './months/reopen-month.ts';
import type { Operation } from './operation.ts';
import { checkOutlets } from './outlets/check-outlets.ts';
import { listOutlets } from './outlets/list-outlets.ts';
import { pauseOutlet, resumeOutlet } from './outlets/pause-outlet.ts';
import { pushOutlets } from './outlets/push-outlets.ts';
import { listEvents, settleEvents } from './outlets/settle-events.ts';
import { startOutlet } from './outlets/start-outlet.ts';
import { applyRates, clearRates } from './rates/apply-rates.ts';
import { checkRates } from './rates/compare-rates.ts';
import { listRates } from './rates/list-rates.ts';
import { reconcileInvoices } from './reconciliations/reconcile-invoices.ts';
import { latestRuns } from './runs/latest-runs.ts';
import { requestSync } from './runs/request-sync.ts';
import { showRun } from './runs/show-run.ts';
import { readStatement, tenantStatement } from './statements/read-statement.ts';
import { readHead } from './system/read-head.ts';
import { readStatus } from './system/read-status.ts';
import { verifyLedger } from './system/verify-ledger.ts';
import { editTenant } from './tenants/edit-tenant.ts';
import { forgetTenant } from './tenants/forget-tenant.ts';
import { importNames } from './tenants/import-names.ts';
import { listTenants } from './tenants/list-tenants.ts';
import { rankTenants } from './tenants/rank-tenants.ts';
import { showTenant } from './tenants/show-tenant.ts';
import { listUsage } from './usage/list-usage.ts';
import { readView, VIEW_OPERATIONS } from './usage/read-view.ts';
import { endWorkspace, resumeWorkspace } from './workspaces/end-workspace.ts';

/**
 * All operations. The HTTP API, its OpenAPI description and the MCP tools are generated from this list. A command does
 * not import this list but only its own operation, so that the others are not loaded.
 */
export const OPERATIONS: readonly Operation[] = [
  listUsage,
  listTenants,
  rankTenants,
  showTenant,
  importNames,
  editTenant,
  forgetTenant,
  listMonths,
  compareMonths,
  planMonth,
  closeMonth,
  closeMonths,
  reopenMonth,
  readStatement,
  tenantStatement,
  ...VIEW_OPERATIONS,
  readView,
  showRun,
  requestSync,
  endWorkspace,
  resumeWorkspace,
  listRates,
  checkRates,
  applyRates,
  clearRates,
  reconcileInvoices,
  listLines,
  addLine,
  revokeLine,
  listAlerts,
  showAlert,
  explainAlert,
  acknowledgeAlert,
  labelAlert,
  backtestSettings,
  listSilences,
  addSilence,
  addPlan,
  endSilence,
  listUndelivered,
  replayMessages,
  testChannel,
  listOutlets,
  listEvents,
  checkOutlets,
  startOutlet,
  pushOutlets,
  pauseOutlet,
  resumeOutlet,
  settleEvents,
  latestRuns,
  readStatus,
  readHead,
  verifyLedger,
];
