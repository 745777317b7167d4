/** A `finance_*` view for its readers. Links are relative to docs/ledger.md. */
export interface ViewDescription {
  /** The meaning of a row. */
  row: string;
  /** The meaning of each column, in the order of the view; empty where the name says it. */
  columns: Readonly<Record<string, string>>;
}
