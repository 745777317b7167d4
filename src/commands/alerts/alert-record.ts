import { dayBars, legendOf } from '../../alerts/messages/day-bars.ts';
import { alertFacts } from '../../alerts/messages/fact-list.ts';
import type { Evidence, Facts } from '../../alerts/messages/facts/facts.ts';
import { mutedWords, nextCommandWhenMuted } from '../../alerts/messages/muted.ts';
import { nextCommands } from '../../alerts/messages/next-commands.ts';
import { type AlertMoments, createAlertMoments } from '../../alerts/queries/alert-moments.ts';
import {
  type AlertMessage,
  type AlertRecord,
  type PendingMessage,
  requireAlertRecord,
} from '../../alerts/queries/alert-record.ts';
import { createMutedReason } from '../../alerts/queries/alerts.ts';
import { describeShortHistories, findShortHistories } from '../../alerts/queries/short-history.ts';
import { formatMinute } from '../../core/date-time.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { acknowledgeAlert } from '../../operations/alerts/acknowledge-alert.ts';
import { explainAlert, showAlert } from '../../operations/alerts/show-alert.ts';
import { actorText } from '../../operations/operation.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { renderTable, type TableOptions, wrapText } from '../../reports/formats/table.ts';
import { type CliCommand, type CliContext, proseLines, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION } from '../shared/options.ts';

const MAX_SHOWN_ENTRIES = 5;

/** The words for reasons, other than muting, why a change of an alert sent no message, by the stored reason. */
const NOT_SENT_REASONS: Readonly<Record<string, string>> = {
  quiet: 'no change to report',
  not_notified: 'never notified',
  notified: 'already notified',
  immaterial: 'below critical_share',
  acknowledged: 'acknowledged',
};

export function showCommand(cli: CliContext): CliCommand {
  return reportingCommand('show')
    .description('Show an alert: its figures, changes and deliveries.')
    .argument('<id>', 'the alert')
    .examples('usage-ledger alerts show alert_64740e88a27593a234fc')
    .action((id: string) =>
      cli.withContext(async (context) => {
        if (cli.json) return cli.printJson(await showAlert.run(scopeOf(context), { alert_id: id }));
        const { connection } = context.reader();
        const record = requireAlertRecord(connection, id);
        const because = createMutedReason(connection, context.clock.now())(record.alert);
        const head = alertHead(record, createAlertMoments(connection)(record.alert), { ...cli.tableOptions, because });
        for (const line of head) cli.print(line);
        cli.print('');
        cli.print(
          renderTable(
            record.transitions,
            [
              { name: 'at', header: 'At, UTC', kind: 'date' },
              { name: 'change', header: 'Change' },
              { name: 'level', header: 'Level' },
              { name: 'current_credits', header: 'Credits', align: 'right' },
              { name: 'actor', header: 'By' },
              {
                name: 'muted_because',
                header: 'Not sent because',
                words: (why) => mutedWords(why) ?? NOT_SENT_REASONS[why ?? ''] ?? '',
              },
              { name: 'note', header: 'Note' },
            ],
            cli.tableOptions,
          ),
        );
        for (const { label, note, actor, at } of record.feedback) {
          const comment = note === null ? '' : `: ${inertText(note)}`;
          cli.print(`${formatMinute(at)}  labelled ${label} by ${inertText(actor)}${comment}`);
        }
        const { messages, pending } = record;
        if (messages.length + pending.length > 0) cli.print('');
        const print = (words: string): void => {
          const { width } = cli.tableOptions;
          const lines = width === undefined ? [words] : wrapText(words, width - 2);
          for (const [index, line] of lines.entries()) cli.print(`${index === 0 ? '' : '  '}${line.trimEnd()}`);
        };
        for (const message of messages) {
          const at = formatMinute(message.delivered_at ?? message.made_at);
          print(`${at}  ${inertText(message.channel)}  ${messageLine(message)}  ${message.notification_id}`);
        }
        for (const message of pending) print(`${inertText(message.channel)}  ${pendingLine(message)}`);
      }),
    );
}

export function explainCommand(cli: CliContext): CliCommand {
  return reportingCommand('explain')
    .description('Explain an alert: figures, threshold, cause and next commands.')
    .argument('<id>', 'the alert')
    .examples('usage-ledger alerts explain alert_64740e88a27593a234fc')
    .action((id: string) =>
      cli.withContext(async (context) => {
        if (cli.json) return cli.printJson(await explainAlert.run(scopeOf(context), { alert_id: id }));
        const { connection } = context.reader();
        const record = requireAlertRecord(connection, id);
        const moments = createAlertMoments(connection)(record.alert);
        const because = createMutedReason(connection, context.clock.now())(record.alert);
        const sections = [
          alertHead(record, moments, { ...cli.tableOptions, because }),
          alertFactLines(moments, cli.tableOptions),
          alertChart(moments),
          entryLines(moments.now.notification.evidence),
          shortHistoryLines(connection, record.alert.workspace_id, context.clock.now(), cli.tableOptions),
          nextLines(cli, because, moments),
        ];
        cli.print(
          sections
            .filter((lines) => lines.length > 0)
            .map((lines) => lines.join('\n'))
            .join('\n\n'),
        );
      }),
    );
}

/** Returns a note if jump alerts are limited because the workspace has a short history. */
function shortHistoryLines(
  connection: LedgerDb,
  workspaceId: string | null,
  nowMs: number,
  { width }: TableOptions,
): string[] {
  const words = describeShortHistories(
    findShortHistories(connection, nowMs).filter((history) => history.workspaceId === workspaceId),
  );
  return words === null ? [] : proseLines(`jumps ${inertText(words)}`, width);
}

export function ackCommand(cli: CliContext): CliCommand {
  return reportingCommand('ack')
    .description('Acknowledge an alert: stops reminders; you are still notified when it grows, gets worse or ends.')
    .argument('<id>', 'an alert, or a message (msg_...) with several')
    .option(...BY_OPTION)
    .option('--note <text>', 'a note')
    .examples('usage-ledger alerts ack alert_64740e88a27593a234fc --note "load test, ends Friday"')
    .action((id: string, options: { by?: string; note?: string }) =>
      cli.withContext(async (context) => {
        const scope = scopeOf(context, options);
        const { document: done } = await acknowledgeAlert.run(scope, { alert_id: id, note: options.note });
        const by = inertText(actorText(scope.actor));
        const several = 'acknowledged' in done ? (done.acknowledged as string[]) : null;
        const words = several === null ? '' : `${counted(several.length, 'alert')} in ${inertText(id)}`;
        cli.printResult(done, [several === null ? `${id} acknowledged by ${by}` : `acknowledged by ${by}: ${words}`]);
      }),
    );
}

const DELIVERY_OUTCOMES = {
  under_way: 'sending',
  unknown: 'delivery uncertain',
  delivered: 'delivered',
  refused: 'refused',
  given_up: 'given up',
} as const;

function messageLine({ event, form, outcome, attempts, last_error }: AlertMessage): string {
  const batch = form === 'single' ? '' : form === 'group' ? ' with others' : ' in the daily summary';
  const why = last_error === null ? '' : `: ${inertText(last_error)}`;
  const tries = attempts > 1n ? ` after ${counted(attempts, 'attempt')}` : '';
  return `${event}: ${DELIVERY_OUTCOMES[outcome]}${batch}${tries}${why}`;
}

function pendingLine({ event, due_at, batch, failures }: PendingMessage): string {
  if (due_at === null) return `${event}: given up until a replay, or the next success of the channel`;
  const at = `${formatMinute(due_at)} UTC`;
  if (failures > 0n) return `${event}: retried at ${at}`;
  if (batch === 'digest') return `${event}: waiting for the daily summary at ${at}`;
  return batch === 'group' ? `${event}: waiting for its group until ${at}` : `${event}: due since ${at}`;
}

/** Returns lines for the newest entries. The view `finance_history` has all entries. */
function entryLines({ entries, entry_count }: Evidence): string[] {
  const shown = entries.slice(-MAX_SHOWN_ENTRIES);
  const hidden = Number(entry_count) - shown.length;
  return [
    ...shown.map(({ entry_id, run_id, period, credits_delta, credits_after }) => {
      const delta = `${credits_delta < 0n ? '' : '+'}${formatInteger(credits_delta)}`;
      return `entry ${entry_id}  ${period}  ${delta} to ${formatInteger(credits_after)}  ${run_id}`;
    }),
    ...(hidden > 0 ? [`and ${formatInteger(hidden)} earlier entries in finance_history`] : []),
  ];
}

/** Labels of facts that are not repeated, because the summary or the table of figures shows them. */
const SHOWN_FACT_LABELS: readonly string[] = ['Tenant', 'Name', 'Workspace', 'Credits', 'Requests', 'Forecast'];
/** The summary cuts names that are longer than this, so they are also shown in full. */
const MAX_SUMMARY_NAME_CHARACTERS = 80;
const LABEL_WIDTH = 12;

function alertHead(
  { alert }: AlertRecord,
  moments: AlertMoments,
  { because, ...options }: TableOptions & { because: string | null },
): string[] {
  const { now } = moments;
  const muting = mutedWords(because);
  const since = alert.first_fired_at === null ? '' : ` since ${formatMinute(alert.first_fired_at)} UTC`;
  return [
    `${alert.alert_id}  ${alert.severity}  ${alert.state}${alert.state === 'firing' ? since : ''}`,
    ...(alert.state === 'firing' && muting !== null ? [`not sent: ${muting}`] : []),
    ...wrapped(now.notification.summary, '', options),
    ...longNames(now.notification, options),
    ...(now.notification.credits === null ? [] : ['', figuresTable(moments, options)]),
  ];
}

function alertFactLines({ now }: AlertMoments, options: TableOptions): string[] {
  const facts = alertFacts(now.notification).filter(({ label }) => !SHOWN_FACT_LABELS.includes(label));
  return facts.flatMap(({ label, value }) => wrapped(inertText(value), label, options));
}

function alertChart({ now: { notification } }: AlertMoments): string[] {
  const { period, evidence } = notification;
  if (period === null || evidence.daily_usage === null) return [];
  const { rows, highest } = dayBars(period, evidence.daily_usage);
  if (highest <= 0) return [];
  return [
    ...rows.map(
      ({ period, bars, total }) => `${period.padEnd(LABEL_WIDTH)}${bars.padEnd(31)}  ${formatInteger(total)}`,
    ),
    `${''.padEnd(LABEL_WIDTH)}credits a day, highest ${formatInteger(Math.round(highest))}${legendOf(rows)}`,
  ];
}

/** Returns lines with the next commands. A command that is too long continues on a second line after a backslash. */
function nextLines(cli: CliContext, because: string | null, { now: { notification } }: AlertMoments): string[] {
  const { width } = cli.tableOptions;
  const instead = nextCommandWhenMuted(because);
  const commands = instead === null ? nextCommands(notification, cli.now()) : [instead];
  if (commands.length === 0) return [];
  const lines = commands.flatMap((text) => {
    const command = text.replace(/^usage-ledger /, cli.commandLine(''));
    const [head, first, ...others] = command.split(' --');
    const fits = width === undefined || command.length + 2 <= width;
    if (fits || first === undefined) return [`  ${command}`];
    const start = others.length === 0 ? head : `${head} --${first}`;
    return [`  ${start} \\`, `    --${others.length === 0 ? first : others.join(' --')}`];
  });
  return ['Next steps', ...lines];
}

interface FigureRow {
  name: string;
  notified: bigint | null;
  now: bigint | null;
}

/**
 * Renders the figures now and at the last notification. If they are equal, or nothing was sent, only the current ones
 * are shown.
 */
function figuresTable({ notified, now }: AlertMoments, options: TableOptions): string {
  const before = figureRows(now.notification).map(({ name, value }) => ({ name, now: value }));
  const earlier = new Map(
    notified === null ? [] : figureRows(notified.notification).map(({ name, value }) => [name, value] as const),
  );
  const rows = before.map((row): FigureRow => ({ ...row, notified: earlier.get(row.name) ?? null }));
  const same = notified === null || rows.every((row) => row.notified === row.now);
  return renderTable<FigureRow>(
    rows,
    [
      { name: 'name', header: '' },
      ...(same || notified === null
        ? []
        : [{ name: 'notified' as const, header: `Notified ${formatMinute(notified.at)}`, align: 'right' as const }]),
      { name: 'now', header: `Now, ${formatMinute(now.at)} UTC`, align: 'right' },
    ],
    options,
  );
}

function figureRows({ period, previous_period, credits, requests, threshold, evidence }: Facts) {
  const before = period === previous_period ? 'before' : (previous_period ?? 'before');
  const rows: { name: string; value: bigint | null }[] = [
    { name: `Credits ${period}`, value: credits?.current ?? null },
    { name: `Credits ${before}`, value: credits?.previous ?? null },
    { name: `Requests ${period}`, value: requests?.current ?? null },
    { name: `Requests ${before}`, value: requests?.previous ?? null },
    { name: 'Forecast', value: evidence.projection?.credits ?? null },
    { name: 'Limit', value: threshold },
  ];
  return rows.filter(({ value }) => value !== null);
}

function longNames({ tenant_id, tenant_name, workspace_id }: Facts, options: TableOptions): string[] {
  return [
    ['Tenant', tenant_id],
    ['Name', tenant_name],
    ['Workspace', workspace_id],
  ].flatMap(([label, name]) =>
    name === null || name === undefined || Array.from(name).length <= MAX_SUMMARY_NAME_CHARACTERS
      ? []
      : wrapped(inertText(name), label ?? '', options),
  );
}

function wrapped(words: string, label: string, { width }: TableOptions): string[] {
  const indent = label === '' ? 0 : LABEL_WIDTH;
  const lines = width === undefined ? [words] : wrapText(words, Math.max(20, width - indent));
  return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(indent)}${line}`);
}
