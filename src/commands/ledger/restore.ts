import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { leaveSystemAlerts } from '../../alerts/end-alerts.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { inWorkFolder } from '../../ledger/store/file/work-folder.ts';
import { restoreLedger } from '../../ledger/transfer/backup/restore.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';

export function restoreCommand(cli: CliContext): CliCommand {
  return reportingCommand('restore')
    .argument('<file>', 'the backup, s3://bucket/name.db, or s3://bucket/prefix for the newest backup there')
    .option('--as-new', 'give the copy a new id, to split a machine (docs/machines.md)')
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
  const { version, config } = context;
  const ledgerPath = config.ledger.path;
  const nowMs = cli.now();
  const target = { ledgerPath, replaceOther, version, nowMs };
  const identity = asNew ? { newLedgerId: context.newLedgerId(), leave: leaveSystemAlerts(nowMs) } : null;
  const { backup, report } = await withStopSignal(async (signal) => {
    const request = { ...target, signal, ...(identity === null ? {} : { asNew: identity }) };
    if (name.startsWith('s3://')) {
      return withFetched(context, { address: name, signal }, async (file, source) => ({
        backup: source,
        report: await restoreLedger({ ...request, file, source }),
      }));
    }
    const file = resolve(cli.io.cwd, name);
    return { backup: file, report: await restoreLedger({ ...request, file }) };
  });
  const { runs, entries, keys, headDigest, outdated, replaced } = report;
  const record = {
    ledger: ledgerPath,
    new_ledger_id: identity?.newLedgerId ?? null,
    backup,
    runs,
    entries,
    keys,
    head_digest: headDigest,
    outdated,
    replaced: replaced === null ? null : { path: replaced.path, head_digest: replaced.headDigest },
  };
  cli.printResult(record, [
    `restored ${inertText(ledgerPath)} from ${inertText(backup)}`,
    identity === null ? null : `new ledger id ${identity.newLedgerId}`,
    `verified ${counted(runs, 'applied run')}, ${counted(entries, 'entry', 'entries')}`,
    `head digest ${headDigest}`,
    replaced === null ? 'no previous ledger' : `previous ledger kept as ${inertText(replaced.path)}`,
    replaced === null ? null : `previous head digest ${replaced.headDigest ?? 'unknown: this version cannot read it'}`,
  ]);
  if (outdated && !cli.json)
    cli.note('The backup is from an older version: the next daemon start or sync migrates it.');
}

async function withFetched<T>(
  { config, clock }: Context,
  { address, signal }: { address: string; signal: AbortSignal },
  work: (file: string, source: string) => Promise<T>,
): Promise<T> {
  const { backupAddress, fetchBackup } = await import('../../s3/bucket-backup.ts');
  const { place, name } = backupAddress(address, config.s3);
  const { path: ledgerPath } = config.ledger;
  mkdirSync(dirname(ledgerPath), { recursive: true, mode: 0o700 });
  return inWorkFolder(`${ledgerPath}.downloading-`, async (folder) => {
    const file = join(folder, 'backup.db');
    const source = await fetchBackup({ place, clock, signal }, name, file);
    return work(file, source);
  });
}
