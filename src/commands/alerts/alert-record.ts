import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Evidence } from '../../alerts/evaluate/evidence.ts';
import { inertText } from '../../core/inert-text.ts';
import { formatInteger } from '../../reports/formats/format.ts';
import { renderTable } from '../../reports/formats/table.ts';
import {
  type AlertDelivery,
  type AlertRecord,
  alertEvidence,
  alertRecord,
} from '../../reports/queries/alert-record.ts';
import { openExisting } from '../finance/close.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';

export function showCommand(cli: CliContext): Command {
  return reportingCommand('show')
    .description('Show one alert: its figures, every change of it and what was delivered.')
    .argument('<id>', 'the alert')
    .addHelpText('after', examples('usage-ledger alerts show alert_64740e88a27593a234fc'))
    .action((id: string) =>
      cli.withContext((context) => {
        const record = alertRecord(context.reader().connection, id);
        if (cli.json) return cli.printJson(record);
        printHead(cli, record);
        cli.print('');
        cli.print(
          renderTable(
            record.transitions,
            [
              { key: 'at', header: 'At' },
              { key: 'change', header: 'Change' },
              { key: 'stage', header: 'Stage' },
              { key: 'current_credits', header: 'Credits', align: 'right' },
              { key: 'actor', header: 'By', format: (actor, row) => row.run_id ?? String(actor) },
              { key: 'muted_because', header: 'Not told because' },
              { key: 'note', header: 'Note' },
            ],
            cli.tableOptions,
          ),
        );
        for (const delivery of record.deliveries) {
          cli.print(`${inertText(delivery.channel)}  ${deliveryLine(delivery)}  ${delivery.notification_id}`);
        }
      }),
    );
}

export function explainCommand(cli: CliContext): Command {
  return reportingCommand('explain')
    .description(
      'Explain one alert: the figures, the threshold and how it was built, what drove it, the entries behind it.',
    )
    .argument('<id>', 'the alert')
    .addHelpText('after', examples('usage-ledger alerts explain alert_64740e88a27593a234fc --json'))
    .action((id: string) =>
      cli.withContext((context) => {
        const { connection } = context.reader();
        const record = alertRecord(connection, id);
        const evidence = alertEvidence(connection, id);
        if (cli.json) return cli.printJson({ alert: record.alert, evidence });
        printHead(cli, record);
        for (const line of evidenceLines(evidence)) cli.print(`  ${line}`);
      }),
    );
}

export function ackCommand(cli: CliContext): Command {
  return reportingCommand('ack')
    .description(
      'Say that you look after an alert: it is told of again only when it gets worse, and when it is resolved.',
    )
    .argument('<id>', 'the alert')
    .option('--by <name>', 'who looks after it (default: the user of this shell)')
    .option('--note <text>', 'what is known')
    .addHelpText(
      'after',
      examples('usage-ledger alerts ack alert_64740e88a27593a234fc --note "load test, ends Friday"'),
    )
    .action((id: string, options: { by?: string; note?: string }) =>
      cli.withContext(async (context) => {
        const writer = await openExisting(context);
        const by = options.by ?? userInfo().username;
        await writer.call('acknowledgeAlert', {
          alertId: id,
          by,
          note: options.note ?? null,
          nowMs: context.clock.now(),
        });
        const record = alertRecord(context.reader().connection, id);
        if (cli.json) cli.printJson(record);
        else cli.print(`${id} is acknowledged by ${inertText(by)}`);
      }),
    );
}

function deliveryLine({ state, attempts, last_error, digest_at, digest_id, digest_state }: AlertDelivery): string {
  if (state === 'held') return `waits for the digest of ${digest_at?.slice(0, 16).replace('T', ' ')} UTC`;
  if (state === 'digested') return `went with ${digest_id}, ${digest_state}`;
  const why = last_error === null ? '' : `: ${inertText(last_error)}`;
  return `${state} after ${attempts} attempts${why}`;
}

function printHead(cli: CliContext, { alert }: AlertRecord): void {
  const who = alert.tenant_id === null ? '' : ` of ${inertText(alert.tenant_id)}`;
  const when = alert.period === null ? '' : ` in ${alert.period}`;
  cli.print(`${alert.alert_id}  ${alert.severity}  ${alert.state}`);
  cli.print(`${alert.rule} ${alert.stage}${who}${when}, workspace ${inertText(alert.workspace_id)}`);
  if (alert.current_credits === null) return;
  const pair = (before: bigint | null, now: bigint | null) =>
    `${formatInteger(before ?? 0n)} to ${formatInteger(now ?? 0n)}`;
  cli.print(`  credits ${pair(alert.previous_credits, alert.current_credits)}`);
  cli.print(`  requests ${pair(alert.previous_requests, alert.current_requests)}`);
  if (alert.threshold !== null) cli.print(`  threshold ${formatInteger(alert.threshold)}`);
}

function evidenceLines(evidence: Evidence): string[] {
  const { threshold, projection, split, tenants } = evidence;
  const lines: string[] = [];
  if (threshold !== null) {
    const { ratio, baseline_credits, min_credits, baseline_periods, per_day } = threshold;
    const base = formatInteger(baseline_credits);
    lines.push(
      `threshold = max(${ratio} x ${base}, ${base} + ${formatInteger(min_credits)}), compared with ${baseline_periods.join(', ')}${per_day ? ' per day' : ''}`,
    );
  }
  if (projection !== null) {
    const { credits, elapsed_fraction } = projection;
    lines.push(
      `heads for ${formatInteger(credits)} credits, ${Number(elapsed_fraction) * 100}% of the period have passed`,
    );
  }
  if (split !== null) {
    lines.push(
      `of the change, ${formatInteger(split.volume_credits)} credits are more or fewer requests at the old rate, ${formatInteger(split.intensity_credits)} the change of the rate`,
    );
  }
  if (evidence.share_of_increase_percent !== null) {
    lines.push(`${evidence.share_of_increase_percent}% of what the workspace has grown by`);
  }
  if (tenants !== null) lines.push(`${evidence.tenant_count} tenants: ${tenants.map(inertText).join(', ')}`);
  if (evidence.detail !== null) lines.push(inertText(evidence.detail));
  for (const { entry_id, run_id, period, credits_delta, credits_after } of evidence.entries) {
    const delta = `${credits_delta < 0n ? '' : '+'}${formatInteger(credits_delta)}`;
    lines.push(`entry ${entry_id}  ${period}  ${delta} to ${formatInteger(credits_after)}  ${run_id}`);
  }
  const left = Number(evidence.entry_count) - evidence.entries.length;
  if (left > 0) lines.push(`and ${left} earlier entries, see finance_history`);
  return lines;
}
