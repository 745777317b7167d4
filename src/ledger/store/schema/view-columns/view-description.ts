/** The documentation of a `finance_*` view. Links in it are relative to docs/ledger.md. */
export interface ViewDescription {
  /** The meaning of a row. */
  row: string;
  /** The meaning of each column, in the order of the view; empty for a column that needs no explanation. */
  columns: Readonly<Record<string, string>>;
}
