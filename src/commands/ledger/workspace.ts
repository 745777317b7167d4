import { resolve } from 'node:path';
import { Command } from 'commander';
import { AppError, UsageError } from '../../core/errors.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { counted } from '../../core/text/counted.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import type { Holder } from '../../publish/receive/find-holder.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { withStopSignal } from '../shared/stop-signal.ts';

export function workspaceCommand(cli: CliContext): Command {
  return new Command('workspace')
    .addCommand(exportCommand(cli))
    .addCommand(importCommand(cli))
    .addCommand(keepCommand(cli))
    .addHelpText(
      'after',
      examples('usage-ledger workspace export ws-123 --out ws-123.db', 'usage-ledger workspace import ws-123.db'),
    );
}

interface ExportOptions {
  out?: string;
  force?: boolean;
  by?: string;
}

function exportCommand(cli: CliContext): Command {
  return reportingCommand('export')
    .description(
      'Write a checked file with this workspace alone, to import it from. This ledger no longer reads the workspace; its history stays.',
    )
    .argument('<id>', 'the workspace')
    .option('--out <file>', 'the file to write, in a folder that exists (needed)')
    .option('--force', 'replace the file when it exists')
    .option('--by <name>', 'who exports (default: the user of this shell)')
    .addHelpText('after', examples('usage-ledger workspace export ws-123 --out /mnt/moves/ws-123.db'))
    .action((id: string, options: ExportOptions) =>
      cli.withContext((context) => exportWorkspace(cli, context, id, options)),
    );
}

async function exportWorkspace(cli: CliContext, context: Context, id: string, options: ExportOptions): Promise<void> {
  const { out, force = false, by = systemUser() } = options;
  if (!out?.trim()) throw new UsageError('export needs --out', 'name the file to write, such as --out ws-123.db');
  const target = resolve(cli.io.cwd, out);
  const ledgerPath = context.config.ledger.path;
  const [{ requireFreeTarget }, { exportFile }, given] = await Promise.all([
    import('../../ledger/transfer/backup/backup.ts'),
    import('../../ledger/transfer/moving/export-file.ts'),
    pricesAndChecks(),
  ]);
  const writer = await context.existingWriter();
  // What forbids the file is said before the workspace is closed.
  requireFreeTarget(target, ledgerPath, force);
  const request = { workspaceId: id, by, nowMs: cli.now() };
  const { link, waiting, checkpointFault } = await writer.call('sealWorkspace', request);
  const already = link === null;
  const { version } = context;
  const report = await withStopSignal((signal) =>
    exportFile({ ...request, ...given, ledgerPath, target, force, version, signal }),
  );
  const { path, sizeBytes, runs, entries, headDigest } = report;
  if (cli.json) {
    cli.printJson({
      ...{ workspace_id: id, path, size_bytes: sizeBytes, runs, entries, head_digest: headDigest },
      ...{ exported_before: already, waiting_notifications: waiting },
    });
    return;
  }
  cli.print(`wrote ${inertText(path)}, ${formatInteger(sizeBytes)} bytes`);
  cli.print(`no fault in its ${counted(runs, 'applied run')}, ${counted(entries, 'entry', 'entries')}`);
  cli.print(`head digest ${headDigest}`);
  cli.print(`${inertText(id)} ${already ? 'was exported before' : 'is not read by this ledger from now on'}`);
  if (checkpointFault) cli.note(noCheckpoint(checkpointFault));
  if (waiting > 0) {
    cli.note(
      `${counted(waiting, 'notification waits', 'notifications wait')} here: leave this daemon on until they are sent`,
    );
  }
}

/** How money of the workspace is worked out, and checked, where it is taken in. */
async function pricesAndChecks() {
  const [{ chargePeriod }, { checkMoney }] = await Promise.all([
    import('../../ledger/journal/charges/charge-run.ts'),
    import('../../ledger/audit/money/verify-money.ts'),
  ]);
  return { price: chargePeriod, checks: [checkMoney] };
}

interface ImportOptions {
  expectHead?: string;
  by?: string;
}

function importCommand(cli: CliContext): Command {
  return reportingCommand('import')
    .description('Take a workspace in with all its history; the daemon of this ledger must be stopped.')
    .argument('<file>', 'what `workspace export` has written; it is only read')
    .option('--expect-head <digest>', 'the head digest that the export has printed')
    .option('--by <name>', 'who imports (default: the user of this shell)')
    .addHelpText(
      'after',
      examples(
        'npx pm2 stop usage-ledger',
        'usage-ledger workspace import /mnt/moves/ws-123.db',
        'usage-ledger workspace import /mnt/moves/ws-123.db --expect-head 7c1f... --json',
      ),
    )
    .action((file: string, options: ImportOptions) => importWorkspace(cli, resolve(cli.io.cwd, file), options));
}

async function importWorkspace(cli: CliContext, file: string, options: ImportOptions): Promise<void> {
  const { expectHead: expectedHead, by = systemUser() } = options;
  // Opening the writer makes the ledger, brings it to this version and its rate cards into force; then nobody has it open.
  const ledgerPath = await cli.withContext(
    async (context) => {
      await context.writer();
      return context.config.ledger.path;
    },
    { writes: true },
  );
  const [{ importFile }, given] = await Promise.all([
    import('../../ledger/transfer/moving/import-file.ts'),
    pricesAndChecks(),
  ]);
  const report = await withStopSignal((signal) =>
    importFile({ ...{ file, ledgerPath, expectedHead, by, nowMs: cli.now(), signal }, ...given }),
  );
  const { from, links, entries, tenants, periods, alerts, headDigest } = report;
  if (cli.json) {
    cli.printJson({
      workspace_id: report.workspaceId,
      from: { ledger_id: from.ledgerId, position: from.position, head_digest: from.headDigest },
      ...{ links, entries, tenants, periods, alerts, head_digest: headDigest },
    });
    return;
  }
  cli.print(
    `imported ${inertText(report.workspaceId)}: ${counted(links, 'link')} of the chain, ${counted(entries, 'entry', 'entries')}, ` +
      `${counted(tenants, 'tenant')} in ${counted(periods, 'period')}, ${counted(alerts, 'alert')}`,
  );
  cli.print(`from ledger ${from.ledgerId} at link ${formatInteger(from.position)}, head digest ${from.headDigest}`);
  cli.print('no fault in the whole ledger with it');
  cli.print(`head digest ${headDigest}`);
}

function keepCommand(cli: CliContext): Command {
  return reportingCommand('keep')
    .description('Take an export back that nobody has imported: the workspace is read and closed here again.')
    .argument('<id>', 'the workspace')
    .option('--force', 'also when another ledger of the replica goes on with it: from then on it counts here')
    .option('--by <name>', 'who keeps it (default: the user of this shell)')
    .addHelpText('after', examples('usage-ledger workspace keep ws-123'))
    .action((id: string, { force = false, by = systemUser() }: { force?: boolean; by?: string }) =>
      cli.withContext(async (context) => {
        const writer = await context.existingWriter();
        const holder = await holderOf(context, id);
        if (holder !== null && !force) throw heldElsewhere(id, holder);
        const { checkpointFault } = await writer.call('keepWorkspace', {
          ...{ workspaceId: id, by, nowMs: cli.now(), from: holder },
        });
        if (cli.json) cli.printJson({ workspace_id: id, kept: true });
        else cli.print(`${inertText(id)} is read here again; delete the file of the export, nobody may import it now`);
        if (checkpointFault !== null) cli.note(noCheckpoint(checkpointFault));
      }),
    );
}

function noCheckpoint(fault: string): string {
  return `No checkpoint of the head could be written: ${fault}`;
}

/** The other ledger in which the replica counts the workspace; null without a replica. */
async function holderOf(context: Context, workspaceId: string): Promise<Holder | null> {
  const { publish } = context.config;
  if (publish === null) return null;
  const { findHolder } = await import('../../publish/receive/find-holder.ts');
  const asked = { workspaceId, ledgerId: ledgerId(context.reader().connection) };
  return findHolder(publish, asked, context.replicaWay);
}

function heldElsewhere(workspaceId: string, { ledgerId: holder }: Holder): AppError {
  return new AppError(
    'workspace_imported',
    `ledger ${holder} of the replica goes on with ${JSON.stringify(workspaceId)}`,
    {
      hint: 'leave it there; only when that one is to be given up for good, add --force: then it counts here',
    },
  );
}
