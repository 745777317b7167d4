/** The names of the columns in an invoice file, and the form of the amounts in it. */
export interface InvoiceColumns {
  tenantColumn?: string;
  creditsColumn?: string;
  amountColumn?: string;
  currencyColumn?: string;
  invoiceColumn?: string;
  workspaceColumn?: string;
  /**
   * A column with `H` in the rows whose amounts are to be subtracted. `H` (Haben) is the credit side in German
   * bookkeeping.
   */
  signColumn?: string;
  minorUnits?: boolean;
}

/**
 * The column names in the exports of billing systems, from the vendors' documentation. If a vendor puts an asterisk
 * before a column name, it is left out here.
 */
export const PRESETS = {
  // Stripe, "The Invoice object" and the Sigma table `invoices`: amounts are in the currency's smallest unit.
  stripe: {
    tenantColumn: 'customer_id',
    amountColumn: 'subtotal',
    currencyColumn: 'currency',
    invoiceColumn: 'number',
    minorUnits: true,
  },
  // Xero Central, "Import or export invoices": one line per item, net if amounts are tax exclusive.
  xero: {
    tenantColumn: 'ContactName',
    amountColumn: 'LineAmount',
    currencyColumn: 'Currency',
    invoiceColumn: 'InvoiceNumber',
  },
  // Intuit, the CSV template of "Import multiple invoices".
  quickbooks: {
    tenantColumn: 'Customer',
    amountColumn: 'ItemAmount',
    currencyColumn: 'Currency',
    invoiceColumn: 'InvoiceNo',
  },
  // NetSuite Records Browser, record `invoice`: the labels of entity, subtotal, currency and tranid.
  netsuite: {
    tenantColumn: 'Customer',
    amountColumn: 'Subtotal',
    currencyColumn: 'Currency',
    invoiceColumn: 'Invoice #',
  },
  // developer.datev.de, DATEV format, "Buchungsstapel": amounts are positive, and H is the credit side of `Konto`.
  datev: {
    tenantColumn: 'Konto',
    amountColumn: 'Umsatz (ohne Soll/Haben-Kz)',
    currencyColumn: 'WKZ Umsatz',
    invoiceColumn: 'Belegfeld 1',
    signColumn: 'Soll/Haben-Kennzeichen',
  },
} satisfies Readonly<Record<string, InvoiceColumns>>;

export type Preset = keyof typeof PRESETS;
