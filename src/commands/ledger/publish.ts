import { inertText } from '../../core/text/inert-text.ts';
import { type NamedDifference, publishCopy } from '../../operations/system/publish-copy.ts';
import type { CopiedTableTotals } from '../../publish/compare-copy.ts';
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
  const compare = repair === true ? 'repair' : check === true ? 'check' : null;
  const record = await withStopSignal((signal) => publishCopy(context, { compare, signal }));
  const { from, to, head_digest: headDigest, rows, seconds, parted, differences } = record;
  if (parted !== null || differences.length > 0) cli.exitCode = EXIT.fault;
  const sent = rows === 0 ? 'nothing to send' : `sent ${formatInteger(rows)} rows in ${seconds.toFixed(1)} s`;
  const link = formatInteger(parted === null || repair === true ? to : from);
  cli.printResult(record, [
    parted === null ? null : `differs: ${parted}`,
    ...differences.map((difference) => `differs: ${inertText(differenceText(difference))}`),
    `${sent}: Postgres holds link ${link} of the chain`,
    check === true && cli.exitCode !== EXIT.fault ? 'the copy matches the ledger' : null,
    repair === true && cli.exitCode === EXIT.fault ? 'differing rows were sent again' : null,
    `head digest ${headDigest}`,
  ]);
}

function differenceText({ table, workspace_id: workspace, period, here, there }: NamedDifference): string {
  const names = [workspace ?? 'the whole ledger', period ?? '', table].filter((name) => name !== '').join(' ');
  const counts: readonly (keyof CopiedTableTotals)[] = ['rows', 'credits', 'requests', 'amount_minor'];
  const differing = counts.filter((name) => (here?.[name] ?? '0') !== (there?.[name] ?? '0'));
  if (differing.length === 0) return `${names}: same sums, different contents`;
  return `${names}: ${differing.map((name) => `${name} ${here?.[name] ?? 0} in the ledger, ${there?.[name] ?? 0} in the copy`).join('; ')}`;
}
