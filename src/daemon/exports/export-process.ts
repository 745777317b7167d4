import { basename, join } from 'node:path';
import type { ExportConfig, FocusConfig, S3Place } from '../../config/types.ts';
import { systemClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { Period } from '../../core/period.ts';
import { keepYoungGenerationSmall } from '../../core/process/memory.ts';
import { openReader } from '../../ledger/store/file/open.ts';
import { withWorkFolder } from '../../ledger/store/file/work-folder.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { createFileMatcher, exportFolderPrefix } from '../../reports/files/export-folder.ts';
import { writeSheetFile } from '../../reports/files/write-sheet.ts';
import type { Sheet, SheetValue } from '../../reports/formats/columns.ts';
import { viewColumns, viewSheet } from '../../reports/queries/finance-view.ts';
import { readFocusSheet } from '../../reports/statement/focus-sheet.ts';
import { withBucket } from '../../s3/bucket.ts';
import { uploadFile } from '../../s3/upload.ts';
import { runParentJob } from '../child-process.ts';

export interface ExportJob extends Pick<ExportConfig, 'name' | 'view' | 'format'> {
  ledgerPath: string;
  /** The file to write; its folder exists. */
  path: string;
  /** The bucket to upload to; null: the file stays at `path`. */
  to: S3Place | null;
  /**
   * The workspaces whose rows a FOCUS file contains. The rows of a view can be filtered by the first of these
   * workspaces only.
   */
  workspaceIds: readonly string[];
  /** True if a view with a workspace column contains only the rows of the first workspace in `workspaceIds`. */
  onlyThese: boolean;
  period: Period | null;
  focus: FocusConfig;
  nowMs: number;
}

/** Writes one export in a child process, so that the daemon is not blocked. This file is run, never imported. */
async function writeExportFile(job: ExportJob, signal: AbortSignal): Promise<{ rows: number }> {
  const { path, to } = job;
  if (to === null) return { rows: await writeRows(job) };
  return withWorkFolder(exportFolderPrefix(path), async (folder) => {
    const made = join(folder, basename(path));
    const rows = await writeRows({ ...job, path: made });
    await withBucket({ place: to, clock: systemClock, signal }, (bucket) =>
      uploadFile({ bucket, path: made, name: basename(path), isAbandoned: createFileMatcher(job.name) }),
    );
    return { rows };
  });
}

async function writeRows(job: ExportJob): Promise<number> {
  const { connection, close } = openReader(job.ledgerPath);
  try {
    // Uses one transaction, so that all rows come from one snapshot.
    connection.exec('BEGIN');
    const given = sheetOfJob(connection, job);
    let count = 0;
    const rows = function* (): Generator<readonly SheetValue[]> {
      for (const row of given.rows) {
        count += 1;
        yield row;
      }
    };
    const style = { raw: job.view === 'focus' };
    await writeSheetFile({ ...given, rows: rows() }, { path: job.path, format: job.format, style });
    return count;
  } finally {
    close();
  }
}

function sheetOfJob(connection: LedgerDb, job: ExportJob): Sheet {
  const { view, workspaceIds, onlyThese, period, focus, nowMs } = job;
  if (view === 'focus') {
    if (period === null) throw new AppError('export_failed', 'a FOCUS file needs a month');
    return readFocusSheet(connection, { workspaceIds, period, focus, nowMs }).sheet;
  }
  const columns = viewColumns(connection, `finance_${view}`).map(({ name }) => name);
  const [workspaceId] = workspaceIds;
  return viewSheet(connection, view, {
    // Views without a workspace or period column are written in full.
    workspaceId: onlyThese && columns.includes('workspace_id') ? workspaceId : undefined,
    period: period !== null && columns.includes('period') ? period : undefined,
  });
}

process.once('disconnect', () => process.exit());
keepYoungGenerationSmall();
await runParentJob(writeExportFile);
