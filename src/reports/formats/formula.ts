/** Where a spreadsheet begins a cell: at the start, and behind what separates cells, in its own locale or in another. */
const CELL_START = String.raw`(^|[;,|\t\r\n])`;
/** What spreadsheets skip before they look for a formula: spaces of all kinds, marks that nobody sees, and quotes. */
const SKIPPED = String.raw`([\p{Z}\p{C}"]*)`;
/** The full-width forms count in East Asian locales. */
const OPERATOR = String.raw`(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])`;
const FORMULA = new RegExp(CELL_START + SKIPPED + OPERATOR, 'gu');
const BLANK_START = /^[\t\r\n]/;

/**
 * Text that no spreadsheet takes for a formula: a `'` goes before each operator that would begin one, also behind a
 * separator, because a locale of semicolons cuts a file of commas there.
 */
export function defuseFormulas(text: string): string {
  const defused = text.replace(FORMULA, "$1$2'");
  return BLANK_START.test(defused) ? `'${defused}` : defused;
}
