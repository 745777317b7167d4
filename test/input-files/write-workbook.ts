import { strToU8, zipSync } from 'fflate';

/** XML of the parts of a workbook, written by hand: nothing here shares code with the reader. */
export interface WorkbookParts {
  sheets: { name: string; xml: string; state?: string }[];
  /** `<si>` elements. */
  strings?: string;
  /** `<numFmts>` and `<cellXfs>` elements. */
  styles?: string;
  is1904?: boolean;
}

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006/relationships';
const HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

/** The parts as Excel names them. */
export function workbookFiles({ sheets, strings, styles, is1904 = false }: WorkbookParts): Record<string, string> {
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const state = (value: string | undefined) => (value === undefined ? '' : ` state="${value}"`);
  const list = sheets.map(
    (sheet, at) => `<sheet name="${sheet.name}" sheetId="${at + 1}"${state(sheet.state)} r:id="rId${at + 1}"/>`,
  );
  const relations = [
    ...sheets.map((_, at) => relation(`rId${at + 1}`, 'worksheet', `worksheets/sheet${at + 1}.xml`)),
    strings === undefined ? '' : relation('rId100', 'sharedStrings', 'sharedStrings.xml'),
    styles === undefined ? '' : relation('rId101', 'styles', '/xl/styles.xml'),
  ];
  const date = is1904 ? '<workbookPr date1904="1"/>' : '<workbookPr/>';
  const files: Record<string, string> = {
    '[Content_Types].xml': `${HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
    '_rels/.rels': `${HEAD}<Relationships xmlns="${PACKAGE}">${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `${HEAD}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}">${date}<sheets>${list.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `${HEAD}<Relationships xmlns="${PACKAGE}">${relations.join('')}</Relationships>`,
  };
  for (const [at, { xml }] of sheets.entries()) {
    files[`xl/worksheets/sheet${at + 1}.xml`] =
      `${HEAD}<worksheet xmlns="${MAIN}"><sheetData>${xml}</sheetData></worksheet>`;
  }
  if (strings !== undefined) files['xl/sharedStrings.xml'] = `${HEAD}<sst xmlns="${MAIN}">${strings}</sst>`;
  if (styles !== undefined) files['xl/styles.xml'] = `${HEAD}<styleSheet xmlns="${MAIN}">${styles}</styleSheet>`;
  return files;
}

export function zipped(files: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(zipSync(Object.fromEntries(Object.entries(files).map(([name, text]) => [name, strToU8(text)]))));
}

export function workbook(parts: WorkbookParts): Buffer {
  return zipped(workbookFiles(parts));
}

/** Rows of inline strings and numbers; null leaves a cell out, and text that begins with `<` is the XML of a cell. */
export function rowsXml(rows: readonly (readonly (string | number | null)[])[], firstRow = 1): string {
  return rows
    .map((cells, at) => {
      const line = firstRow + at;
      const xml = cells.map((cell, column) => {
        const address = `${String.fromCharCode(65 + column)}${line}`;
        if (cell === null) return '';
        if (typeof cell === 'number') return `<c r="${address}"><v>${cell}</v></c>`;
        if (cell.startsWith('<')) return cell.replace('<c', `<c r="${address}"`);
        return `<c r="${address}" t="inlineStr"><is><t>${cell}</t></is></c>`;
      });
      return `<row r="${line}">${xml.join('')}</row>`;
    })
    .join('');
}
