/** The columns of an invoice file by name, and the form of its amounts. */
export interface InvoiceColumns {
  tenantColumn?: string;
  creditsColumn?: string;
  amountColumn?: string;
  currencyColumn?: string;
  invoiceColumn?: string;
  workspaceColumn?: string;
  /** A column that contains `H` for amounts to subtract (credit, in German bookkeeping). */
  signColumn?: string;
  minorUnits?: boolean;
}

/** Column names of billing system exports, from their vendors' documentation. An asterisk before a name is left out. */
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
