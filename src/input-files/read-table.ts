import { UsageError } from '../core/errors.ts';
import { type FileContent, identify } from './file-content.ts';
import type { InputFile } from './input-file.ts';
import { readCsv } from './read-csv.ts';
import type { Table, TableRequest } from './table.ts';

export interface TableFileRequest extends TableRequest {
  /** The name of the sheet in a workbook; default: the first sheet that is not hidden. */
  sheet?: string | undefined;
}

/**
 * Reads the rows of a CSV file or an Excel workbook. The content of the file decides which of the two it is. Throws
 * UsageError for any other file, for a table without the required columns, and for a table without a row below its
 * header.
 */
export async function readTable({ name, bytes }: InputFile, request: TableFileRequest): Promise<Table> {
  const content = identify(bytes);
  if (content.kind === 'workbook' && content.archive !== null) {
    const { readWorkbook } = await import('./workbook/read-workbook.ts');
    return readWorkbook(name, content.archive, request);
  }
  if (content.kind !== 'text' || content.text === null) {
    throw new UsageError(`${name} is ${content.description}`, fileRemedy(content));
  }
  if (request.sheet !== undefined) {
    throw new UsageError(`${name} is ${content.description}, which has no sheets`, 'leave out --sheet');
  }
  return readCsv(name, content.text, request);
}

function fileRemedy({ description }: FileContent): string {
  const remedy = 'export the data as CSV, or as an Excel workbook (.xlsx)';
  if (description.startsWith('an HTML page')) return `sign in to the site that it is from, and ${remedy}`;
  if (/password/.test(description)) return 'remove the password, and save the workbook';
  if (/compressed|archive/.test(description)) return `unpack it, or ${remedy}`;
  return remedy;
}
