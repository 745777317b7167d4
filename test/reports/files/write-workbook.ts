import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSheetFile } from '../../../src/reports/files/write-sheet.ts';
import type { Sheet } from '../../../src/reports/formats/columns.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { zipEntries } from './zip-entries.ts';

export async function write(sheet: Sheet): Promise<{ path: string; parts: Record<string, string> }> {
  const path = join(temporaryFolder(), 'charges.xlsx');
  await writeSheetFile(sheet, { path, format: 'xlsx' });
  return { path, parts: zipEntries(readFileSync(path)) };
}
