import { closeSync, openSync, rmSync } from 'node:fs';
import type { Sheet } from '../formats/sheet.ts';
import { xlsxPieces } from '../formats/xlsx.ts';
import { writeAtomically } from './atomic-file.ts';
import { writePieces } from './write-sheet.ts';
import { readZipParts, ZipWriter } from './zip-parts.ts';

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument';
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';

const SHEET = /^xl\/worksheets\/sheet\d+\.xml$/;
const STYLES = 'xl/styles.xml';
const THEME = 'xl/theme/theme1.xml';

/**
 * Writes a workbook with several sheets, one after the other, in the same way and with the same cells as `writeSheetFile` does
 * with one. Each is written beside the file for a moment; memory does not grow with the rows. Names of sheets are plain
 * words of at most 28 characters, each another.
 */
export async function writeWorkbook(sheets: Iterable<Sheet>, path: string): Promise<void> {
  await writeAtomically(path, async (part) => {
    const single = `${part}.sheet`;
    const file = openSync(part, 'r+');
    try {
      const zip = new ZipWriter(file);
      const names: string[] = [];
      for (const sheet of sheets) {
        closeSync(openSync(single, 'wx', 0o600));
        await writePieces(single, xlsxPieces(sheet));
        takeOver(single, zip, { sheet: sheet.name, names });
        rmSync(single);
      }
      describe(zip, names);
      zip.end();
    } finally {
      closeSync(file);
      rmSync(single, { force: true });
    }
  });
}

/** Rows beyond what a sheet can hold go on in others, which are called `NAME_2` and so on. */
function takeOver(path: string, zip: ZipWriter, { sheet, names }: { sheet: string; names: string[] }): void {
  const single = openSync(path, 'r');
  try {
    const parts = readZipParts(single);
    if (names.length === 0) {
      // No cell has a style of its own, so those of one sheet are those of all.
      for (const part of parts.filter(({ name }) => name === STYLES || name === THEME))
        zip.copy(single, part, part.name);
    }
    for (const [at, part] of parts.filter(({ name }) => SHEET.test(name)).entries()) {
      names.push(at === 0 ? sheet : `${sheet}_${at + 1}`);
      zip.copy(single, part, `xl/worksheets/sheet${names.length}.xml`);
    }
  } finally {
    closeSync(single);
  }
}

function describe(zip: ZipWriter, names: readonly string[]): void {
  const relation = (id: number, type: string, target: string): string =>
    `<Relationship Id="rId${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;
  const relations = (list: readonly string[]): string =>
    `${XML}<Relationships xmlns="${PACKAGE}/relationships">${list.join('')}</Relationships>`;
  const type = (part: string, kind: string): string =>
    `<Override PartName="/${part}" ContentType="${TYPE}.${kind}+xml"/>`;
  const sheets = names.map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`).join('');
  zip.add(
    'xl/workbook.xml',
    `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>${sheets}</sheets></workbook>`,
  );
  zip.add(
    'xl/_rels/workbook.xml.rels',
    relations([
      ...names.map((_, at) => relation(at + 1, 'worksheet', `worksheets/sheet${at + 1}.xml`)),
      relation(names.length + 1, 'styles', 'styles.xml'),
      relation(names.length + 2, 'theme', 'theme/theme1.xml'),
    ]),
  );
  zip.add('_rels/.rels', relations([relation(1, 'officeDocument', 'xl/workbook.xml')]));
  zip.add(
    '[Content_Types].xml',
    `${XML}<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>${[
      type('xl/workbook.xml', 'spreadsheetml.sheet.main'),
      ...names.map((_, at) => type(`xl/worksheets/sheet${at + 1}.xml`, 'spreadsheetml.worksheet')),
      type(STYLES, 'spreadsheetml.styles'),
      type(THEME, 'theme'),
    ].join('')}</Types>`,
  );
}
