import { FOCUS_COLUMNS, type FocusRow, focusRows, isPriced } from '../../billing/focus/focus-rows.ts';
import type { FocusConfig } from '../../config/types.ts';
import type { Period } from '../../core/period.ts';
import { readInvoiceNumbers } from '../../ledger/journal/charges/invoice-numbers.ts';
import { billedTenants } from '../../ledger/journal/charges/read-billed.ts';
import { findBilledPeriod } from '../../ledger/journal/charges/read-statement.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { Sheet } from '../formats/columns.ts';

export interface FocusRequest {
  workspaceIds: readonly string[];
  period: Period;
  tenantId?: string | undefined;
  focus: FocusConfig;
  nowMs: number;
}

export interface FocusGaps {
  /** The number of tenants with a line or usage that has no price. */
  unpriced: number;
  /** The ids of the workspaces that have no data for the period. */
  unknown: string[];
}

/**
 * Returns the rows of a FOCUS file, and the gaps in it. The rows are read from the ledger while the file is written, so
 * the caller must hold a read transaction until the end. The gaps are complete only after the last row. In a CSV file,
 * write the rows with `raw`: programs read the file, and a `'` against spreadsheet formulas would change its values.
 */
export function readFocusSheet(connection: LedgerDb, request: FocusRequest): { sheet: Sheet; gaps: FocusGaps } {
  const { period, tenantId, focus, nowMs } = request;
  const gaps: FocusGaps = { unpriced: 0, unknown: [] };
  const rows = function* (): Generator<FocusRow[]> {
    for (const workspaceId of request.workspaceIds) {
      const billed = findBilledPeriod(connection, { workspaceId, period, nowMs });
      if (billed === null) {
        gaps.unknown.push(workspaceId);
        continue;
      }
      const names = namesOf(focus, billed.workspaceName);
      const invoiceOf = readInvoiceNumbers(connection, billed.place);
      for (const tenant of billedTenants(connection, billed.place, tenantId)) {
        if (tenant.lines.length === 0 || !tenant.lines.every(isPriced)) gaps.unpriced += 1;
        yield focusRows(billed, tenant, names, invoiceOf);
      }
    }
  };
  return { sheet: focusSheet(rows()), gaps };
}

export function focusSheet(rows: Iterable<readonly FocusRow[]>): Sheet {
  const values = function* (): Generator<(string | null)[]> {
    for (const some of rows) for (const row of some) yield FOCUS_COLUMNS.map(({ name }) => row[name]);
  };
  return { name: 'focus', columns: FOCUS_COLUMNS, rows: values() };
}

function namesOf(focus: FocusConfig, workspaceName: string) {
  return {
    issuer: focus.issuer ?? workspaceName,
    publisher: focus.publisher ?? focus.issuer ?? workspaceName,
    serviceName: focus.serviceName ?? focus.publisher ?? workspaceName,
    serviceCategory: focus.serviceCategory,
    serviceSubcategory: focus.serviceSubcategory,
  };
}
