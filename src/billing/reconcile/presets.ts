/** How a file of invoices says what is compared: the columns, by their names, and how amounts stand in them. */
export interface InvoiceColumns {
  tenantColumn?: string;
  creditsColumn?: string;
  amountColumn?: string;
  currencyColumn?: string;
  invoiceColumn?: string;
  workspaceColumn?: string;
  /** Holds `H` for an amount to take off, as bookkeeping has it. */
  signColumn?: string;
  minorUnits?: boolean;
}

/** Exports of billing systems, by what their makers' documentation calls the columns. An asterisk before a name is left out. */
export const PRESETS = {
  // Stripe, "The Invoice object" and the table `invoices` of Sigma: amounts in the smallest unit of the currency.
  stripe: {
    tenantColumn: 'customer_id',
    amountColumn: 'subtotal',
    currencyColumn: 'currency',
    invoiceColumn: 'number',
    minorUnits: true,
  },
  // Xero Central, "Import or export invoices": a line an item, net where amounts are tax exclusive.
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
