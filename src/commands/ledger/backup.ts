import { resolve } from 'node:path';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { makeBackup } from '../../operations/system/make-backup.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';

interface BackupOptions {
  force?: boolean;
}

export function backupCommand(cli: CliContext): CliCommand {
  return reportingCommand('backup')
    .argument('<file>', 'the file to write, s3://bucket/prefix or s3://bucket/name.db')
    .option('--force', 'replace an existing file')
    .examples('usage-ledger backup /mnt/backups/ledger.db', 'usage-ledger backup s3://our-bucket/ledger-1')
    .action((file: string, options: BackupOptions) =>
      cli.withContext((context) => runBackup(cli, context, file, options)),
    );
}

async function runBackup(
  cli: CliContext,
  context: Context,
  file: string,
  { force = false }: BackupOptions,
): Promise<void> {
  const target = file.startsWith('s3://') ? file : resolve(cli.io.cwd, file);
  const report = await withStopSignal((signal) => makeBackup(context, { target, force, signal }));
  const { path, sizeBytes, runs, entries, keys, headDigest } = report;
  cli.printResult({ path, size_bytes: sizeBytes, runs, entries, keys, head_digest: headDigest }, [
    `wrote ${inertText(path)}, ${formatInteger(sizeBytes)} bytes`,
    `verified ${counted(runs, 'applied run')}, ${counted(entries, 'entry', 'entries')}`,
    `head digest ${headDigest}`,
  ]);
}
