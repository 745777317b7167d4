export const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
export const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';

const FORMATS = {
  general: 'General',
  text: '@',
  integer: '#,##0',
  amount2: '#,##0.00',
  amount3: '#,##0.000',
  amount4: '#,##0.0000',
  price: '#,##0.00################',
  double: '0.00',
  date: 'yyyy-mm-dd hh:mm:ss',
  day: 'yyyy-mm-dd',
} as const;

export type CellFormat = keyof typeof FORMATS;

const NAMES = Object.keys(FORMATS) as CellFormat[];
/** Those below belong to the program that reads the file. */
const FIRST_FREE_ID = 164;

/** The number of a cell's style; cells of totals stand out. */
export function styleOf(format: CellFormat, isTotal = false): number {
  return NAMES.indexOf(format) + (isTotal ? NAMES.length : 0);
}

export const HEADER_STYLE = 2 * NAMES.length;

export function stylesXml(): string {
  const list = (tag: string, items: readonly string[]): string =>
    `<${tag} count="${items.length}">${items.join('')}</${tag}>`;
  const border = (side: string): string =>
    `<border><left/><right/>${side === 'top' ? '<top style="thin"/>' : '<top/>'}${side === 'bottom' ? '<bottom style="thin"/>' : '<bottom/>'}<diagonal/></border>`;
  const cell = (id: number, look: string): string => `<xf numFmtId="${id}" ${look} xfId="0" applyNumberFormat="1"/>`;
  const ids = NAMES.map((_, at) => FIRST_FREE_ID + at);
  const plain = 'fontId="0" fillId="0" borderId="0"';
  const total = 'fontId="1" fillId="0" borderId="1" applyFont="1" applyBorder="1"';
  const header = 'fontId="1" fillId="2" borderId="2" applyFont="1" applyFill="1" applyBorder="1"';
  return `${XML}<styleSheet xmlns="${MAIN}">${[
    list(
      'numFmts',
      NAMES.map((name, at) => `<numFmt numFmtId="${ids[at]}" formatCode="${FORMATS[name]}"/>`),
    ),
    list(
      'fonts',
      ['', '<b/>'].map((bold) => `<font>${bold}<sz val="11"/><name val="Calibri"/></font>`),
    ),
    list('fills', [
      ...['none', 'gray125'].map((pattern) => `<fill><patternFill patternType="${pattern}"/></fill>`),
      '<fill><patternFill patternType="solid"><fgColor rgb="FFE7EAF0"/></patternFill></fill>',
    ]),
    list('borders', ['none', 'top', 'bottom'].map(border)),
    list('cellStyleXfs', [`<xf numFmtId="0" ${plain}/>`]),
    list('cellXfs', [...ids.map((id) => cell(id, plain)), ...ids.map((id) => cell(id, total)), cell(0, header)]),
    list('cellStyles', ['<cellStyle name="Normal" xfId="0" builtinId="0"/>']),
  ].join('')}</styleSheet>`;
}
