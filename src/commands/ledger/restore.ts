import { resolve } from 'node:path';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { restoreBackup } from '../../operations/system/restore-backup.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';

export function restoreCommand(cli: CliContext): CliCommand {
  return reportingCommand('restore')
    .argument('<file>', 'the backup, s3://bucket/name.db, or s3://bucket/prefix for the newest backup there')
    .option('--as-new', 'give the restored ledger a new id, to split a machine (docs/machines.md)')
    .option('--replace-other', 'also replace a ledger with another id')
    .examples(
      'npx pm2 stop usage-ledger',
      'usage-ledger restore backups/ledger-20260301T020000Z.db',
      'usage-ledger restore s3://our-bucket/ledger-1',
    )
    .action((file: string, options: RestoreOptions) =>
      cli.withContext((context) => restore(cli, context, file, options)),
    );
}

interface RestoreOptions {
  asNew?: boolean;
  replaceOther?: boolean;
}

async function restore(cli: CliContext, context: Context, name: string, options: RestoreOptions): Promise<void> {
  const { replaceOther = false, asNew = false } = options;
  const from = name.startsWith('s3://') ? name : resolve(cli.io.cwd, name);
  const record = await withStopSignal((signal) => restoreBackup(context, { from, asNew, replaceOther, signal }));
  const { ledger, new_ledger_id: newLedgerId, backup, runs, entries, head_digest: headDigest, replaced } = record;
  cli.printResult(record, [
    `restored ${inertText(ledger)} from ${inertText(backup)}`,
    newLedgerId === null ? null : `new ledger id ${newLedgerId}`,
    `verified ${counted(runs, 'applied run')}, ${counted(entries, 'entry', 'entries')}`,
    `head digest ${headDigest}`,
    replaced === null ? 'no previous ledger' : `previous ledger kept as ${inertText(replaced.path)}`,
    replaced === null ? null : `previous head digest ${replaced.head_digest ?? 'unknown: this version cannot read it'}`,
  ]);
  if (record.outdated && !cli.json)
    cli.note('The backup is from an older version: the next daemon start or sync migrates it.');
}
