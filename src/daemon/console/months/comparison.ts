import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { formatMinor, parseMinor } from '../../../core/money.ts';
import type { SlowRead } from '../../../operations/operation.ts';
import { compareInvoices, type invoicesInput } from '../../../operations/reconciliations/compare-invoices.ts';
import type {
  ReconciliationRow,
  reconciliationSchema,
} from '../../../operations/reconciliations/reconciliation-record.ts';
import { renderJson } from '../../../reports/formats/json.ts';

type Reconciliation = z.output<typeof reconciliationSchema>;

/**
 * The reason why a tenant differs: its status (`missing`, `extra`), or the cause of a difference between the figures.
 */
export type DifferenceKind = 'missing' | 'extra' | NonNullable<ReconciliationRow['cause']> | 'unexplained';

interface CurrencySum {
  currency: string;
  /** The invoices minus the ledger, such as `-12.50`. */
  difference: string;
}

/** The tenants that differ for one reason. */
interface DifferenceGroup {
  kind: DifferenceKind;
  tenants: number;
  /** The invoices minus the ledger; empty if amounts are not compared. */
  sums: CurrencySum[];
}

interface DifferingRow extends ReconciliationRow {
  kind: DifferenceKind;
  /** The invoice minus the ledger; null if amounts are not compared. */
  difference: string | null;
}

/** The summary of a comparison for a page. It has at most MAX_SHOWN_ROWS rows, however large the file is. */
export interface Comparison {
  state: Reconciliation['state'];
  tenants: Reconciliation['totals']['tenants'];
  amounts: { currency: string; ledger: string; invoice: string; difference: string }[];
  /** The groups of tenants that differ, the group with the most tenants first. */
  groups: DifferenceGroup[];
  /** The rows that differ, those with the largest differences first. */
  rows: DifferingRow[];
  /** The number of rows that differ; `rows` may have fewer. */
  differing: number;
  /** A digest of the whole result: if it is different, the figures are different. */
  digest: string;
}

const MAX_SHOWN_ROWS = 200;

/** Compares a file of invoices with the ledger, and summarizes the result for a page. */
export const readComparison: SlowRead<typeof invoicesInput, { comparison: Comparison; notes: readonly string[] }> = {
  name: 'console.read-comparison',
  role: compareInvoices.role,
  input: compareInvoices.input,
  isSlow: true,
  async run(scope, input) {
    const { document, notes } = await compareInvoices.run(scope, input);
    return { comparison: summarizeComparison(document), notes };
  },
};

/**
 * Groups the rows of a reconciliation by the reason why they differ, adds up each group, and keeps the rows with the
 * largest differences.
 */
function summarizeComparison(document: Reconciliation): Comparison {
  const { state, totals } = document;
  const differing = document.rows
    .filter(({ status }) => status !== 'matched')
    .map((row) => ({ row, kind: kindOf(row), minor: differenceMinor(row) }));
  const byKind = Map.groupBy(differing, ({ kind }) => kind);
  const groups = [...byKind].map(([kind, found]): DifferenceGroup => {
    const byCurrency = Map.groupBy(found, ({ row }) => row.currency);
    const sums = [...byCurrency].flatMap(([currency, each]) => {
      if (currency === null) return [];
      const minor = each.reduce((sum, { minor }) => sum + (minor ?? 0n), 0n);
      return [{ currency, difference: formatMinor(minor, currency) }];
    });
    return { kind, tenants: found.length, sums };
  });
  const largest = differing
    .toSorted((a, b) => Number(differenceSize(b.minor) - differenceSize(a.minor)))
    .slice(0, MAX_SHOWN_ROWS);
  return {
    state,
    tenants: totals.tenants,
    amounts: totals.amounts.map(({ currency, ledger, invoice }) => {
      const difference = minorOf(invoice, currency) - minorOf(ledger, currency);
      return { currency, ledger, invoice, difference: formatMinor(difference, currency) };
    }),
    groups: groups.sort((a, b) => b.tenants - a.tenants),
    rows: largest.map(({ row, kind, minor }) => ({
      ...row,
      kind,
      difference: minor === null || row.currency === null ? null : formatMinor(minor, row.currency),
    })),
    differing: differing.length,
    digest: createHash('sha256').update(renderJson(document)).digest('hex'),
  };
}

function kindOf({ status, cause }: ReconciliationRow): DifferenceKind {
  if (status === 'missing' || status === 'extra') return status;
  return cause ?? 'unexplained';
}

function differenceMinor({ currency, ledger_amount, invoice_amount }: ReconciliationRow): bigint | null {
  if (currency === null || (ledger_amount === null && invoice_amount === null)) return null;
  return minorOf(invoice_amount ?? '0', currency) - minorOf(ledger_amount ?? '0', currency);
}

function minorOf(amount: string, currency: string): bigint {
  const minor = parseMinor(amount, currency);
  if (minor === null) throw new Error(`${amount} is not an amount in ${currency}`);
  return minor;
}

function differenceSize(minor: bigint | null): bigint {
  return minor === null ? -1n : minor < 0n ? -minor : minor;
}
