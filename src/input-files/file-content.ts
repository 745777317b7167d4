import { UsageError } from '../core/errors.ts';
import { decodeText } from './decode-text.ts';
import type { InputFile } from './input-file.ts';
import { DamagedArchive, ZipArchive } from './zip-archive.ts';

/** The type of a file, which is determined by the content of the file and not by its name. */
export type FileKind = 'text' | 'json' | 'workbook' | 'png' | 'jpeg' | 'svg' | 'other';

export interface FileContent {
  kind: FileKind;
  /** The type in words that follow "is" in an error, such as `an Excel workbook`. */
  description: string;
  /** The text of the file, without the byte-order mark; null if the file is not text. */
  text: string | null;
  /** The archive with the parts of a workbook; null for any other file. */
  archive: ZipArchive | null;
}

/** The first bytes of file types in hexadecimal, and the description of each type. */
const SIGNATURES: readonly [start: string, description: string, kind?: FileKind][] = [
  ['255044462d', 'a PDF document'],
  ['89504e470d0a', 'a PNG image', 'png'],
  ['ffd8ff', 'a JPEG image', 'jpeg'],
  ['47494638', 'a GIF image'],
  ['52494646', 'a RIFF file, such as a WebP image'],
  ['49492a00', 'a TIFF image'],
  ['4d4d002a', 'a TIFF image'],
  ['1f8b', 'a gzip-compressed file'],
  ['425a68', 'a bzip2-compressed file'],
  ['fd377a585a00', 'an xz-compressed file'],
  ['28b52ffd', 'a Zstandard-compressed file'],
  ['377abcaf271c', 'a 7-Zip archive'],
  ['526172211a07', 'a RAR archive'],
  ['53514c69746520666f726d6174203300', 'an SQLite database'],
  ['50415231', 'a Parquet file'],
];
const ZIP_STARTS = ['504b0304', '504b0506'];
const OLE2_START = 'd0cf11e0a1b11ae1';
const SIGNATURE_BYTES = 16;

/**
 * Identifies the type of a file by its content. Text that is not HTML, JSON or XML gets the kind `text`. Whether it is
 * a table is decided later, by its header.
 */
export function identify(bytes: Buffer): FileContent {
  const start = bytes.toString('hex', 0, SIGNATURE_BYTES);
  if (bytes.length === 0) return other('empty (0 bytes)');
  if (ZIP_STARTS.some((signature) => start.startsWith(signature))) return identifyZip(bytes);
  if (start.startsWith(OLE2_START)) return other(describeOle2(bytes));
  const [, description, kind = 'other'] = SIGNATURES.find(([signature]) => start.startsWith(signature)) ?? [];
  if (description !== undefined) return { kind, description, text: null, archive: null };
  const text = decodeText(bytes);
  return text === null ? other('not a text file: it has bytes that no text has') : identifyText(text);
}

/** Returns the content of a file if it is of one of the given kinds. Otherwise throws UsageError with the remedy. */
export function requireKind({ name, bytes }: InputFile, kinds: readonly FileKind[], remedy: string): FileContent {
  const content = identify(bytes);
  if (kinds.includes(content.kind)) return content;
  throw new UsageError(`${name} is ${content.description}`, remedy);
}

function other(description: string, text: string | null = null): FileContent {
  return { kind: 'other', description, text, archive: null };
}

const MARKUP_START = /^<(?:!doctype|[?!a-z])[^>]{0,200}>?/i;
const HTML_ELEMENT = /<(?:!doctype\s+html|html|head|body|table|script|meta|title|div|form|style)\b/i;

function identifyText(text: string): FileContent {
  const start = text.slice(0, 4096).trimStart();
  if (start === '' && text.trim() === '') return other('empty: it has only blank lines');
  const [tag] = MARKUP_START.exec(start) ?? [];
  if (tag !== undefined) {
    const shown = tag.length > 40 ? `${tag.slice(0, 40)}...` : tag;
    const begins = `(it begins with ${JSON.stringify(shown)})`;
    if (/urn:schemas-microsoft-com:office:spreadsheet/.test(start)) return other(`an XML spreadsheet ${begins}`, text);
    if (/<svg\b/i.test(start)) return { kind: 'svg', description: 'an SVG image', text, archive: null };
    return other(HTML_ELEMENT.test(start) ? `an HTML page ${begins}` : `an XML document ${begins}`, text);
  }
  if (/^[{[]/.test(start) && isJson(text)) return { kind: 'json', description: 'a JSON document', text, archive: null };
  return { kind: 'text', description: 'a text file', text, archive: null };
}

/** Reports whether the text is JSON: one document, or several documents with one on each line. */
function isJson(text: string): boolean {
  const [firstLine = ''] = text.trimStart().split(/\r?\n/, 1);
  return [text, firstLine].some((candidate) => {
    try {
      const value: unknown = JSON.parse(candidate);
      return value !== null && typeof value === 'object';
    } catch {
      return false;
    }
  });
}

function identifyZip(bytes: Buffer): FileContent {
  let archive: ZipArchive;
  try {
    archive = new ZipArchive(bytes);
  } catch (error) {
    if (!(error instanceof DamagedArchive)) throw error;
    return other('an incomplete or damaged ZIP archive, as a workbook is that was cut off');
  }
  if (archive.has('xl/workbook.xml') || isSpreadsheetPackage(archive)) {
    return { kind: 'workbook', description: 'an Excel workbook', text: null, archive };
  }
  return other(describeArchive(archive));
}

/**
 * Reports whether the archive is a workbook whose main part is not `xl/workbook.xml`. Some programs write such
 * workbooks.
 */
function isSpreadsheetPackage(archive: ZipArchive): boolean {
  return archive.has('_rels/.rels') && archive.names.some((name) => /worksheets\/[^/]+\.xml$/.test(name));
}

function describeArchive(archive: ZipArchive): string {
  if (archive.has('xl/workbook.bin')) return 'a binary Excel workbook (.xlsb)';
  if (archive.has('word/document.xml')) return 'a Word document';
  if (archive.has('ppt/presentation.xml')) return 'a PowerPoint presentation';
  if (archive.has('content.xml') && archive.has('mimetype')) return 'an OpenDocument file (.ods)';
  const [first] = archive.names;
  return first === undefined ? 'an empty ZIP archive' : `a ZIP archive (with ${JSON.stringify(first)} in it)`;
}

/** Describes a file in the old Office format by the names of its streams, which are in UTF-16. */
function describeOle2(bytes: Buffer): string {
  const hasStream = (name: string): boolean => bytes.includes(Buffer.from(name, 'utf16le'));
  if (hasStream('EncryptedPackage')) return 'an Excel workbook with a password';
  if (hasStream('Workbook') || hasStream('Book')) return 'an old Excel workbook (.xls)';
  return 'a file of an old Office program';
}
