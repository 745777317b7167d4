import { resolve } from 'node:path';
import type { Command } from 'commander';
import { inertText } from '../../core/text/inert-text.ts';
import { type BackupReport, backupLedger } from '../../ledger/transfer/backup/backup.ts';
import { backupName } from '../../ledger/transfer/backup/backup-names.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

interface BackupOptions {
  force?: boolean;
}

export function backupCommand(cli: CliContext): Command {
  return reportingCommand('backup')
    .argument('<file>', 'the file to write, in a folder that exists, or s3://bucket/prefix, or s3://bucket/name.db')
    .option('--force', 'replace the file or object when it exists')
    .addHelpText(
      'after',
      examples(
        'usage-ledger backup /mnt/backups/ledger.db',
        'usage-ledger backup ledger-copy.db --force --json',
        'usage-ledger backup s3://our-bucket/ledger-1',
      ),
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
  const report = await withStopSignal((signal) =>
    file.startsWith('s3://')
      ? toBucket(context, file, { force, signal })
      : backupLedger({ ledgerPath: context.config.ledger.path, target: resolve(cli.io.cwd, file), force, signal }),
  );
  const { path, sizeBytes, runs, entries, keys, headDigest } = report;
  cli.answer({ path, size_bytes: sizeBytes, runs, entries, keys, head_digest: headDigest }, [
    `wrote ${inertText(path)}, ${formatInteger(sizeBytes)} bytes`,
    `no fault in ${formatInteger(runs)} applied runs, ${formatInteger(entries)} entries`,
    `head digest ${headDigest}`,
  ]);
}

async function toBucket(
  { config, clock }: Context,
  address: string,
  { force, signal }: { force: boolean; signal: AbortSignal },
): Promise<BackupReport> {
  const { backupAddress, backupToBucket } = await import('../../s3/bucket-backup.ts');
  const { place, name } = backupAddress(address, config.s3);
  const { path: ledgerPath } = config.ledger;
  return backupToBucket({
    ledgerPath,
    way: { place, clock, signal },
    name: name ?? backupName(clock.now()),
    force,
    workPrefix: `${ledgerPath}.uploading-`,
  });
}
