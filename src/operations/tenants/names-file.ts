import type { InputFile } from '../../input-files/input-file.ts';
import { readTable } from '../../input-files/read-table.ts';
import { type NameInput, requireUniqueIds } from './import-names.ts';

/**
 * Reads the names of tenants from a CSV file or workbook. The columns tenant_id, display_name and external_ref are
 * found by these names; each other column becomes a label. Throws UsageError for an id that is empty or listed twice;
 * the message says where in the file the id is.
 */
export async function readNamesFile(file: InputFile, sheet: string | undefined): Promise<NameInput[]> {
  const table = await readTable(file, {
    required: ['tenant_id'],
    optional: ['display_name', 'external_ref'],
    keepsOthers: true,
    sheet,
  });
  const names = table.rows.map(({ record }) => {
    const { tenant_id = '', display_name, external_ref, ...labels } = record;
    const filled = Object.entries(labels).filter(([, value]) => value !== '');
    return {
      tenant_id,
      display_name: display_name || null,
      external_ref: external_ref || null,
      labels: Object.fromEntries(filled),
    };
  });
  requireUniqueIds(names, (index) => {
    const row = table.rows[index];
    return row === undefined ? '' : table.place(row, 'tenant_id');
  });
  return names;
}
