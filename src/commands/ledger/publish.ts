import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import type { CopyDifference, TableTotals } from '../../publish/compare-copy.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';

interface PublishOptions {
  check?: boolean;
  repair?: boolean;
}

export function publishCommand(cli: CliContext): CliCommand {
  return reportingCommand('publish')
    .option('--check', 'compare the copy with the ledger afterwards; exit code 4 when they differ')
    .option('--repair', 'compare as --check does, and send differing rows again')
    .examples('usage-ledger publish')
    .action((options: PublishOptions) => cli.withContext((context) => runPublish(cli, context, options)));
}

async function runPublish(cli: CliContext, context: Context, { check, repair }: PublishOptions): Promise<void> {
  const { publish: target, ledger } = context.config;
  if (target === null) {
    throw new UsageError('the configuration has no `publish:`', 'set publish.url to the address of Postgres');
  }
  const { publishLedger } = await import('../../publish/publish-ledger.ts');
  const compare =
    repair === true ? { compare: 'repair' as const } : check === true ? { compare: 'check' as const } : {};
  const { connection } = context.reader();
  const started = cli.clock.monotonic();
  const report = await withStopSignal((signal) =>
    publishLedger({ target, ledgerPath: ledger.path, nowMs: cli.now(), signal, ...compare }),
  );
  const { from, to, headDigest, rows, divergence } = report;
  const differences = report.differences.map((difference) => nameDifference(connection, difference));
  if (divergence !== null || differences.length > 0) cli.exitCode = EXIT.fault;
  const seconds = (cli.clock.monotonic() - started) / 1000;
  const record = {
    from,
    to,
    head_digest: headDigest,
    rows,
    seconds: Number(seconds.toFixed(3)),
    parted: divergence,
    differences,
  };
  const sent = rows === 0 ? 'nothing to send' : `sent ${formatInteger(rows)} rows in ${seconds.toFixed(1)} s`;
  const link = formatInteger(divergence === null || repair === true ? to : from);
  cli.printResult(record, [
    divergence === null ? null : `differs: ${divergence}`,
    ...differences.map((difference) => `differs: ${inertText(differenceText(difference))}`),
    `${sent}: Postgres holds link ${link} of the chain`,
    check === true && cli.exitCode !== EXIT.fault ? 'the copy matches the ledger' : null,
    repair === true && cli.exitCode === EXIT.fault ? 'differing rows were sent again' : null,
    `head digest ${headDigest}`,
  ]);
}

interface NamedDifference extends Pick<CopyDifference, 'table'> {
  here: TableTotals | null;
  there: TableTotals | null;
  workspace_id: string | null;
  period: string | null;
}

function nameDifference(
  connection: LedgerDb,
  { table, unit, inLedger: here, inPostgres: there }: CopyDifference,
): NamedDifference {
  const [workspaceKey = 0, periodKey = 0] = unit.split(':').map(Number);
  const nameOf = (sql: string, key: number): string | null =>
    (connection.prepare(sql).pluck().get(key) as string | undefined) ?? null;
  return {
    table,
    workspace_id: nameOf(
      'SELECT workspace_id FROM workspaces WHERE workspace_key = ?',
      workspaceKey === 0 ? workspaceKeyOf(periodKey) : workspaceKey,
    ),
    period: nameOf('SELECT period FROM periods WHERE period_key = ?', periodKey),
    here,
    there,
  };
}

function differenceText({ table, workspace_id: workspace, period, here, there }: NamedDifference): string {
  const names = [workspace ?? 'the whole ledger', period ?? '', table].filter((name) => name !== '').join(' ');
  const counts: readonly (keyof TableTotals)[] = ['rows', 'credits', 'requests', 'amount_minor'];
  const differing = counts.filter((name) => (here?.[name] ?? '0') !== (there?.[name] ?? '0'));
  if (differing.length === 0) return `${names}: same sums, different contents`;
  return `${names}: ${differing.map((name) => `${name} ${here?.[name] ?? 0} in the ledger, ${there?.[name] ?? 0} in the copy`).join('; ')}`;
}
