import { closeSync, openSync, writeFileSync } from 'node:fs';
import type { Sheet } from '../formats/columns.ts';
import { MAIN_NAMESPACE, SheetRows, stylesXml, worksheetPieces, XML_DECLARATION } from './worksheet.ts';
import { ZipWriter } from './zip-writer.ts';

const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument';

/**
 * Writes sheets into an empty file as an Office Open XML workbook. Memory use does not depend on the number of rows.
 * The names of the sheets must differ, and be plain words of at most 28 characters. If a sheet has more rows than a
 * worksheet can hold, the rows continue in a worksheet `NAME_2`, and so on.
 */
export async function fillWorkbook(sheets: Iterable<Sheet>, path: string): Promise<void> {
  const file = openSync(path, 'r+');
  try {
    const zip = new ZipWriter((bytes) => writeFileSync(file, bytes));
    const names: string[] = [];
    for (const sheet of sheets) {
      const rows = new SheetRows(sheet);
      try {
        for (let part = 1; !rows.isDone; part += 1) {
          names.push(part === 1 ? sheet.name : `${sheet.name}_${part}`);
          await zip.add(`xl/worksheets/sheet${names.length}.xml`, worksheetPieces(rows));
        }
      } finally {
        rows.close();
      }
    }
    for (const [name, text] of Object.entries(workbookParts(names))) await zip.add(name, [text]);
    await zip.end();
  } finally {
    closeSync(file);
  }
}

function workbookParts(names: readonly string[]): Record<string, string> {
  const relation = (id: number, type: string, target: string): string =>
    `<Relationship Id="rId${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const relations = (list: readonly string[]): string =>
    `${XML_DECLARATION}<Relationships xmlns="${PACKAGE}/relationships">${list.join('')}</Relationships>`;
  const type = (part: string, kind: string): string =>
    `<Override PartName="/${part}" ContentType="${TYPE}.spreadsheetml.${kind}+xml"/>`;
  const sheets = names.map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`).join('');
  const headers = names
    .map((name, at) => `<definedName name="_xlnm.Print_Titles" localSheetId="${at}">'${name}'!$1:$1</definedName>`)
    .join('');
  const ofSheets = names.map((_, at) => relation(at + 1, 'worksheet', `worksheets/sheet${at + 1}.xml`));
  const types = [
    type('xl/workbook.xml', 'sheet.main'),
    ...names.map((_, at) => type(`xl/worksheets/sheet${at + 1}.xml`, 'worksheet')),
    type('xl/styles.xml', 'styles'),
  ].join('');
  return {
    'xl/styles.xml': stylesXml(),
    'xl/workbook.xml': `${XML_DECLARATION}<workbook xmlns="${MAIN_NAMESPACE}" xmlns:r="${RELATIONS}"><sheets>${sheets}</sheets><definedNames>${headers}</definedNames></workbook>`,
    'xl/_rels/workbook.xml.rels': relations([...ofSheets, relation(names.length + 1, 'styles', 'styles.xml')]),
    '_rels/.rels': relations([relation(1, 'officeDocument', 'xl/workbook.xml')]),
    '[Content_Types].xml': `${XML_DECLARATION}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${types}</Types>`,
  };
}
