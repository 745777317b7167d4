import { readdirSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { UsageError } from '../../../core/errors.ts';
import type { Period } from '../../../core/period.ts';
import { makeFolder } from '../../../core/process/folder-fault.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { counted, firstOf } from '../../../core/text/words.ts';
import { streamStatement } from '../../../ledger/journal/charges/read-statement.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';
import { findPeriodOf } from '../../../ledger/store/subjects.ts';
import { sumUsage } from '../../../ledger/store/sum-usage.ts';
import { chooseWorkspace, unknownPeriod } from '../../../operations/workspace-choice.ts';
import { writeAtomically } from '../../../reports/files/atomic-file.ts';
import { formatInteger, sheetOf } from '../../../reports/formats/columns.ts';
import { type CsvStyle, csvPieces } from '../../../reports/formats/csv.ts';
import {
  INDEX_COLUMNS,
  type StatementFile,
  TENANT_FORMATS,
  type TenantFormat,
  writeStatements,
} from '../../../reports/statement/statement-files.ts';
import type { Context } from '../../../wiring/context.ts';
import { type CliContext, withStopSignal } from '../../shared/cli-context.ts';
import { startProgress } from '../../shared/progress.ts';

interface EachRequest {
  period: Period;
  workspace: string | undefined;
  out: string | undefined;
  formats: readonly string[];
  style: CsvStyle;
}

export async function writeEach(cli: CliContext, context: Context, request: EachRequest): Promise<void> {
  const { period, workspace, out } = request;
  const formats = formatsOf(request.formats);
  if (out === undefined) throw new UsageError('--each needs --out', 'add --out with a folder for the statements');
  const folder = resolve(cli.io.cwd, out);
  makeFolder(folder, 'name another folder with --out');
  for (const name of readdirSync(folder)) if (name.startsWith('.index.csv.part-')) rmSync(join(folder, name));
  const all = context.config.workspaces.map(({ id }) => id);
  const ids = workspace === undefined ? all : [chooseWorkspace(context.config, workspace).id];
  const { connection } = context.reader();
  const seen: Seen = { statements: 0, kept: 0, estimates: [], without: [] };
  const total = ids.reduce((sum, id) => sum + countTenantsInMonth(connection, id, period), 0);
  const view = await startProgress(cli, period, 'statements');
  const onTenant = (kept: number): void => {
    seen.statements += 1;
    seen.kept += kept;
    view.update(seen.statements, Math.max(total, seen.statements));
  };
  const rows = function* (): Generator<StatementFile> {
    for (const id of ids) {
      const stream = streamStatement(connection, { workspaceId: id, period, nowMs: context.clock.now() });
      if (stream === null) seen.without.push(id);
      else {
        if (stream.begin.state !== 'closed') seen.estimates.push(id);
        yield* writeStatements(stream, { folder, formats, style: request.style, onTenant });
      }
    }
  };
  const pieces = csvPieces(sheetOf('index', INDEX_COLUMNS, rows()), request.style);
  // One transaction keeps all statements consistent with each other.
  connection.exec('BEGIN');
  try {
    await withStopSignal((signal) =>
      writeAtomically(join(folder, 'index.csv'), (part) => writeFile(part, pieces, { signal })),
    );
  } finally {
    connection.exec('ROLLBACK');
    view.stop();
  }
  if (seen.statements === 0 && seen.without.length > 0) throw unknownPeriod(period, seen.without.join(', '));
  reportStatements(cli, { period, folder, files: seen.statements * formats.length, ...seen });
}

interface Seen {
  statements: number;
  /** Unchanged files from an earlier run. */
  kept: number;
  /** Workspaces whose month is not closed; `without` lists those without usage in it. */
  estimates: string[];
  without: string[];
}

/** Counts the tenants with usage in the month. Tenants with corrections only are not included. */
function countTenantsInMonth(connection: LedgerDb, id: string, period: Period): number {
  const found = findPeriodOf(connection, id, period);
  return found === undefined
    ? 0
    : sumUsage(connection, found.periodKey, found.closedSeq === null ? 'now' : 'closed').tenants;
}

function formatsOf(names: readonly string[]): TenantFormat[] {
  const formats = TENANT_FORMATS.filter((format) => names.includes(format));
  if (formats.length > 0 && formats.length === names.length) return formats;
  throw new UsageError('--each supports html, json and csv', 'name one or more of them, such as --format html,json');
}

function reportStatements(
  cli: CliContext,
  { period, folder, ...seen }: Seen & { period: Period; folder: string; files: number },
) {
  const { statements, files, kept, estimates, without } = seen;
  const record = { period, folder, statements, files, kept, estimates, without };
  const words = `${counted(statements, 'statement')} in ${counted(files, 'file')}, listed in ${join(folder, 'index.csv')}`;
  cli.printResult(record, [kept === 0 ? words : `${words}; ${formatInteger(kept)} files already existed`]);
  const named = (ids: readonly string[]) => firstOf(ids.map(inertText), 5);
  if (estimates.length > 0) cli.note(`estimates, because the month is not closed: ${named(estimates)}`);
  if (without.length > 0) cli.note(`the ledger has no data for ${period}: ${named(without)}`);
}
