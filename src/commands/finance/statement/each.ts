import { join, resolve } from 'node:path';
import { UsageError } from '../../../core/errors.ts';
import type { Period } from '../../../core/period.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { counted, firstOf } from '../../../core/text/words.ts';
import { type StatementFilesRecord, writeStatementFiles } from '../../../operations/statements/write-statements.ts';
import { formatInteger } from '../../../reports/formats/columns.ts';
import type { CsvStyle } from '../../../reports/formats/csv.ts';
import { TENANT_FORMATS, type TenantFormat } from '../../../reports/statement/statement-files.ts';
import type { Context } from '../../../wiring/context.ts';
import { type CliContext, withStopSignal } from '../../shared/cli-context.ts';
import { scopeOf } from '../../shared/command-scope.ts';
import { startProgress } from '../../shared/progress.ts';

interface EachRequest {
  period: Period;
  workspace: string | undefined;
  out: string | undefined;
  formats: readonly string[];
  style: CsvStyle;
}

export async function writeEach(cli: CliContext, context: Context, request: EachRequest): Promise<void> {
  const { period, workspace, out, style } = request;
  const formats = chosenFormats(request.formats);
  if (out === undefined) throw new UsageError('--each needs --out', 'add --out with a folder for the statements');
  const folder = resolve(cli.io.cwd, out);
  const view = await startProgress(cli, period, 'statements');
  const onProgress = (statements: number, total: number): void => view.update(statements, total);
  const record = await withStopSignal((signal) =>
    writeStatementFiles(scopeOf(context, { signal }), { period, workspace, folder, formats, style, onProgress }),
  ).finally(view.stop);
  printRecord(cli, record);
}

function chosenFormats(names: readonly string[]): TenantFormat[] {
  const formats = TENANT_FORMATS.filter((format) => names.includes(format));
  if (formats.length > 0 && formats.length === names.length) return formats;
  throw new UsageError('--each supports html, json and csv', 'name one or more of them, such as --format html,json');
}

function printRecord(cli: CliContext, record: StatementFilesRecord): void {
  const { period, folder, statements, files, kept, estimates, without } = record;
  const words = `${counted(statements, 'statement')} in ${counted(files, 'file')}, listed in ${join(folder, 'index.csv')}`;
  cli.printResult(record, [kept === 0 ? words : `${words}; ${formatInteger(kept)} files already existed`]);
  const named = (ids: readonly string[]) => firstOf(ids.map(inertText), 5);
  if (estimates.length > 0) cli.note(`estimates, because the month is not closed: ${named(estimates)}`);
  if (without.length > 0) cli.note(`the ledger has no data for ${period}: ${named(without)}`);
}
