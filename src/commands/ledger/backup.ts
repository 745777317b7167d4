import { resolve } from 'node:path';
import type { Command } from 'commander';
import { inertText } from '../../core/text/inert-text.ts';
import { backupLedger } from '../../ledger/transfer/backup/backup.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

interface BackupOptions {
  force?: boolean;
}

export function backupCommand(cli: CliContext): Command {
  return reportingCommand('backup')
    .argument('<file>', 'the file to write, in a folder that exists')
    .option('--force', 'replace the file when it exists')
    .addHelpText(
      'after',
      examples('usage-ledger backup /mnt/backups/ledger.db', 'usage-ledger backup ledger-copy.db --force --json'),
    )
    .action((file: string, options: BackupOptions) =>
      cli.withContext((context) => backup(cli, context, file, options)),
    );
}

async function backup(
  cli: CliContext,
  context: Context,
  file: string,
  { force = false }: BackupOptions,
): Promise<void> {
  const target = resolve(cli.io.cwd, file);
  const ledgerPath = context.config.ledger.path;
  const report = await withStopSignal((signal) => backupLedger({ ledgerPath, target, force, signal }));
  const { path, sizeBytes, runs, entries, keys, headDigest } = report;
  if (cli.json) {
    cli.printJson({ path, size_bytes: sizeBytes, runs, entries, keys, head_digest: headDigest });
    return;
  }
  cli.print(`wrote ${inertText(path)}, ${formatInteger(sizeBytes)} bytes`);
  cli.print(`no fault in ${formatInteger(runs)} applied runs, ${formatInteger(entries)} entries`);
  cli.print(`head digest ${headDigest}`);
}
