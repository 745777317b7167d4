import { resolve } from 'node:path';
import type { Command } from 'commander';
import { inertText } from '../../core/text/inert-text.ts';
import { restoreLedger } from '../../ledger/file/restore.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

export function restoreCommand(cli: CliContext): Command {
  return reportingCommand('restore')
    .argument('<file>', 'the backup; it is only read')
    .option('--replace-other', 'also when the ledger in place is another one than that of the backup')
    .addHelpText(
      'after',
      examples('npx pm2 stop usage-ledger', 'usage-ledger restore backups/ledger-20260301T020000Z.db'),
    )
    .action((file: string, { replaceOther = false }: { replaceOther?: boolean }) =>
      cli.withContext((context) => restore(cli, context, file, replaceOther)),
    );
}

async function restore(cli: CliContext, context: Context, name: string, replaceOther: boolean): Promise<void> {
  const file = resolve(cli.io.cwd, name);
  const { version, config } = context;
  const ledgerPath = config.ledger.path;
  const { runs, entries, keys, headDigest, outdated, replaced } = await withStopSignal((signal) =>
    restoreLedger({ file, ledgerPath, replaceOther, version, nowMs: cli.now(), signal }),
  );
  if (cli.json) {
    cli.printJson({
      ledger: ledgerPath,
      backup: file,
      runs,
      entries,
      keys,
      head_digest: headDigest,
      outdated,
      replaced: replaced === null ? null : { path: replaced.path, head_digest: replaced.headDigest },
    });
    return;
  }
  cli.print(`restored ${inertText(ledgerPath)} from ${inertText(file)}`);
  cli.print(`no fault in ${formatInteger(runs)} published runs, ${formatInteger(entries)} entries`);
  cli.print(`head digest ${headDigest}`);
  if (replaced === null) {
    cli.print('there was no ledger before');
  } else {
    cli.print(`the ledger before is kept as ${inertText(replaced.path)}`);
    cli.print(`head digest ${replaced.headDigest ?? 'unknown: this version cannot read it'}`);
  }
  if (outdated) cli.note('It comes from an older version: the next start of the daemon, or sync, migrates it.');
}
