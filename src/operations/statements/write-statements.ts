import { readdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Period } from '../../core/period.ts';
import { makeFolder } from '../../core/process/folder-fault.ts';
import { streamStatement } from '../../ledger/journal/charges/read-statement.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { findPeriodOf } from '../../ledger/store/subjects.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { writeAtomically } from '../../reports/files/atomic-file.ts';
import { sheetOf } from '../../reports/formats/columns.ts';
import { type CsvStyle, csvPieces } from '../../reports/formats/csv.ts';
import {
  INDEX_COLUMNS,
  type StatementFile,
  type TenantFormat,
  writeStatements,
} from '../../reports/statement/statement-files.ts';
import type { Scope } from '../operation.ts';
import { chooseWorkspace, unknownPeriod } from '../workspace-choice.ts';

export interface StatementFilesRequest {
  period: Period;
  /** The workspace; undefined for all. */
  workspace: string | undefined;
  /** The absolute path of the folder. It is created if it does not exist. */
  folder: string;
  formats: readonly TenantFormat[];
  style: CsvStyle;
  onProgress(statements: number, total: number): void;
}

export interface StatementFilesRecord {
  period: Period;
  folder: string;
  statements: number;
  files: number;
  /** The number of files that were not written again, because an earlier run wrote them and they are still correct. */
  kept: number;
  /**
   * The workspaces whose month is not closed, so that their statements are estimates. `without` lists the workspaces
   * without usage in the month.
   */
  estimates: string[];
  without: string[];
}

/**
 * Writes the statement of each tenant to files of its own, and at the end the file `index.csv`, which lists these
 * files. All statements are read in one transaction. Throws if no workspace has data for the month.
 */
export async function writeStatementFiles(
  { context, connection, signal }: Scope,
  { period, workspace, folder, formats, style, onProgress }: StatementFilesRequest,
): Promise<StatementFilesRecord> {
  makeFolder(folder, 'name another folder with --out');
  for (const name of readdirSync(folder)) if (name.startsWith('.index.csv.part-')) rmSync(join(folder, name));
  const all = context.config.workspaces.map(({ id }) => id);
  const ids = workspace === undefined ? all : [chooseWorkspace(context.config, workspace).id];
  const record: StatementFilesRecord = {
    period,
    folder,
    statements: 0,
    files: 0,
    kept: 0,
    estimates: [],
    without: [],
  };
  const total = ids.reduce((sum, id) => sum + countTenantsInMonth(connection, id, period), 0);
  const onTenant = (kept: number): void => {
    record.statements += 1;
    record.kept += kept;
    onProgress(record.statements, Math.max(total, record.statements));
  };
  const rows = function* (): Generator<StatementFile> {
    for (const id of ids) {
      const stream = streamStatement(connection, { workspaceId: id, period, nowMs: context.clock.now() });
      if (stream === null) record.without.push(id);
      else {
        if (stream.begin.state !== 'closed') record.estimates.push(id);
        yield* writeStatements(stream, { folder, formats, style, onTenant });
      }
    }
  };
  const pieces = csvPieces(sheetOf('index', INDEX_COLUMNS, rows()), style);
  // One transaction keeps all statements consistent with each other.
  connection.exec('BEGIN');
  try {
    await writeAtomically(join(folder, 'index.csv'), (part) => writeFile(part, pieces, { signal }));
  } finally {
    connection.exec('ROLLBACK');
  }
  if (record.statements === 0 && record.without.length > 0) throw unknownPeriod(period, record.without.join(', '));
  return { ...record, files: record.statements * formats.length };
}

/** Counts the tenants with usage in the month. Tenants that only have corrections in the month are not counted. */
function countTenantsInMonth(connection: LedgerDb, id: string, period: Period): number {
  const found = findPeriodOf(connection, id, period);
  return found === undefined
    ? 0
    : sumUsage(connection, found.periodKey, found.closedSeq === null ? 'now' : 'closed').tenants;
}
