import { posix } from 'node:path';
import type { ZipArchive } from '../zip-archive.ts';
import { isDateFormat } from './dates.ts';
import { attributeOf, parseXml, unescapeText } from './parse-xml.ts';
import type { SheetContext } from './read-sheet.ts';

export interface WorkbookSheet {
  name: string;
  isHidden: boolean;
  /** The name of the archive's part with the rows of the sheet; null if the sheet is a chart. */
  part: string | null;
}

export interface Workbook {
  /** The sheets in the order of their tabs. */
  sheets: WorkbookSheet[];
  is1904: boolean;
  /**
   * The names of the archive's parts with the shared texts and the styles of cells; null if the workbook has no such
   * part.
   */
  stringsPart: string | null;
  stylesPart: string | null;
}

/**
 * Reads the list of sheets and the names of the parts of a workbook. Throws DamagedArchive if the workbook is damaged.
 */
export function openWorkbook(archive: ZipArchive): Workbook {
  const workbookPart = findWorkbookPart(archive);
  const relations = readRelations(archive, workbookPart);
  const partOf = (type: string): string | null => relations.find((one) => one.type === type)?.target ?? null;
  const sheets: WorkbookSheet[] = [];
  let is1904 = false;
  parseXml(archive.read(workbookPart), {
    open(name, attributes) {
      if (name === 'workbookPr') is1904 ||= ['1', 'true'].includes(attributes.date1904 ?? '');
      if (name !== 'sheet') return;
      const id = attributeOf(attributes, 'id');
      const relation = relations.find((one) => one.id === id);
      sheets.push({
        name: unescapeText(attributes.name ?? ''),
        isHidden: (attributes.state ?? 'visible') !== 'visible',
        part: relation?.type === 'worksheet' ? relation.target : null,
      });
    },
  });
  return { sheets, is1904, stringsPart: partOf('sharedStrings'), stylesPart: partOf('styles') };
}

function findWorkbookPart(archive: ZipArchive): string {
  const root = readRelations(archive, '');
  return root.find(({ type }) => type === 'officeDocument')?.target ?? 'xl/workbook.xml';
}

interface Relation {
  id: string | undefined;
  /**
   * The last segment of the relation's type URL, such as `worksheet` or `styles`. It is the same in both variants of
   * the format, Strict and Transitional.
   */
  type: string;
  target: string;
}

function readRelations(archive: ZipArchive, part: string): Relation[] {
  const folder = posix.dirname(part);
  const file = posix.join(folder, '_rels', `${posix.basename(part)}.rels`);
  if (!archive.has(file)) return [];
  const relations: Relation[] = [];
  parseXml(archive.read(file), {
    open(name, { Id, Type = '', Target = '' }) {
      if (name !== 'Relationship') return;
      const target = Target.startsWith('/') ? Target.slice(1) : posix.join(folder, Target);
      relations.push({ id: Id, type: Type.slice(Type.lastIndexOf('/') + 1), target });
    },
  });
  return relations;
}

/**
 * Reads the shared texts and styles that the cells of all sheets refer to. Throws DamagedArchive if a part is damaged.
 */
export function readSheetContext(archive: ZipArchive, { stringsPart, stylesPart, is1904 }: Workbook): SheetContext {
  const sharedStrings = stringsPart === null || !archive.has(stringsPart) ? [] : readStrings(archive.read(stringsPart));
  const isDateStyle = stylesPart === null || !archive.has(stylesPart) ? [] : readDateStyles(archive.read(stylesPart));
  return { sharedStrings, isDateStyle, is1904 };
}

function readStrings(bytes: Buffer): string[] {
  const strings: string[] = [];
  let text: string | null = null;
  let isText = false;
  let isPhonetic = false;
  parseXml(bytes, {
    open(name) {
      if (name === 'si') text = '';
      else if (name === 'rPh') isPhonetic = true;
      else if (name === 't') isText = !isPhonetic;
    },
    text(part) {
      if (text !== null && isText) text += part;
    },
    close(name) {
      if (name === 't') isText = false;
      else if (name === 'rPh') isPhonetic = false;
      else if (name === 'si' && text !== null) strings.push(unescapeText(text));
    },
  });
  return strings;
}

function readDateStyles(bytes: Buffer): boolean[] {
  const codes = new Map<number, string>();
  const styles: boolean[] = [];
  let isCellFormat = false;
  parseXml(bytes, {
    open(name, attributes) {
      if (name === 'cellXfs') isCellFormat = true;
      else if (name === 'numFmt') codes.set(Number(attributes.numFmtId), attributes.formatCode ?? '');
      else if (name === 'xf' && isCellFormat) {
        const id = Number(attributes.numFmtId ?? 0);
        styles.push(isDateFormat(id, codes.get(id)));
      }
    },
    close(name) {
      if (name === 'cellXfs') isCellFormat = false;
    },
  });
  return styles;
}

/** Returns the unpacked size in bytes of all parts that are needed to read a sheet. */
export function unpackedBytes(archive: ZipArchive, { stringsPart, stylesPart }: Workbook, sheetPart: string): number {
  return [stringsPart, stylesPart, sheetPart].reduce(
    (sum, part) => sum + (part === null ? 0 : archive.sizeOf(part)),
    0,
  );
}

/**
 * Returns the sheet with this name, or else the sheet whose name differs only in case. Without a name, returns the
 * first sheet that is not hidden. Returns null if there is no such sheet.
 */
export function findSheet({ sheets }: Workbook, name: string | undefined): (WorkbookSheet & { part: string }) | null {
  const fold = (text: string): string => text.normalize('NFKC').trim().toLowerCase();
  const tables = sheets.filter((sheet): sheet is WorkbookSheet & { part: string } => sheet.part !== null);
  if (name === undefined) return tables.find(({ isHidden }) => !isHidden) ?? null;
  return tables.find((sheet) => sheet.name === name) ?? tables.find((sheet) => fold(sheet.name) === fold(name)) ?? null;
}
