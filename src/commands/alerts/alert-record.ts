import { dayBars } from '../../alerts/notify/day-bars.ts';
import { type AlertMoment, type AlertMoments, alertMoments } from '../../alerts/queries/alert-moments.ts';
import {
  type AlertMessage,
  type AlertRecord,
  alertRecord,
  type OwedMessage,
} from '../../alerts/queries/alert-record.ts';
import { createMutedNow } from '../../alerts/queries/alerts.ts';
import { shortHistories, shortHistoryWords } from '../../alerts/queries/short-history.ts';
import { alertFacts } from '../../alerts/wording/alert-facts.ts';
import { commandBesideMute, mutedWords } from '../../alerts/wording/muted.ts';
import { nextCommands } from '../../alerts/wording/next-commands.ts';
import type { Evidence, Facts } from '../../alerts/wording/notification.ts';
import { formatMinute } from '../../core/date-time.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { formatInteger } from '../../reports/formats/columns.ts';
import { renderTable, type TableOptions, wrapText } from '../../reports/formats/table.ts';
import { type CliCommand, type CliContext, proseLines, reportingCommand } from '../shared/cli-context.ts';
import { BY_OPTION } from '../shared/options.ts';

const SHOWN_ENTRIES = 5;

/** Why a change was no message, beside what keeps alerts quiet. */
const UNTOLD: Readonly<Record<string, string>> = {
  quiet: 'no news',
  unheard: 'nobody had heard of it',
  told: 'told already',
  acknowledged: 'acknowledged',
};

export function showCommand(cli: CliContext): CliCommand {
  return reportingCommand('show')
    .description('Show one alert: figures, changes and deliveries.')
    .argument('<id>', 'the alert')
    .examples('usage-ledger alerts show alert_64740e88a27593a234fc')
    .action((id: string) =>
      cli.withContext((context) => {
        const record = alertRecord(context.reader().connection, id);
        if (cli.json) return cli.printJson(record);
        const { connection } = context.reader();
        const because = createMutedNow(connection, context.clock.now())(record.alert);
        const head = alertHead(record, alertMoments(connection)(record.alert), { ...cli.tableOptions, because });
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
                header: 'Not told because',
                words: (why) => mutedWords(why) ?? UNTOLD[why ?? ''] ?? '',
              },
              { name: 'note', header: 'Note' },
            ],
            cli.tableOptions,
          ),
        );
        for (const { label, note, actor, at } of record.feedback) {
          const why = note === null ? '' : `: ${inertText(note)}`;
          cli.print(`${formatMinute(at)}  ${inertText(actor)} says ${label}${why}`);
        }
        const { messages, owed } = record;
        if (messages.length + owed.length > 0) cli.print('');
        const print = (words: string): void => {
          const { width } = cli.tableOptions;
          const lines = width === undefined ? [words] : wrapText(words, width - 2);
          for (const [index, line] of lines.entries()) cli.print(`${index === 0 ? '' : '  '}${line.trimEnd()}`);
        };
        for (const message of messages) {
          const at = formatMinute(message.delivered_at ?? message.made_at);
          print(`${at}  ${inertText(message.channel)}  ${messageLine(message)}  ${message.notification_id}`);
        }
        for (const one of owed) print(`${inertText(one.channel)}  ${owedLine(one)}`);
      }),
    );
}

export function explainCommand(cli: CliContext): CliCommand {
  return reportingCommand('explain')
    .description('Explain one alert: figures, threshold, what drives it, what to type next.')
    .argument('<id>', 'the alert')
    .examples('usage-ledger alerts explain alert_64740e88a27593a234fc')
    .action((id: string) =>
      cli.withContext((context) => {
        const { connection } = context.reader();
        const record = alertRecord(connection, id);
        const moments = alertMoments(connection)(record.alert);
        const { told, now } = moments;
        if (cli.json) return cli.printJson({ alert: record.alert, told: momentJson(told), now: momentJson(now) });
        const because = createMutedNow(connection, context.clock.now())(record.alert);
        const sections = [
          alertHead(record, moments, { ...cli.tableOptions, because }),
          alertFactLines(moments, cli.tableOptions),
          alertChart(moments),
          entryLines(now.notification.evidence),
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

/** Why nothing of the kind is told of other tenants of the workspace. */
function shortHistoryLines(
  connection: LedgerDb,
  workspaceId: string | null,
  nowMs: number,
  { width }: TableOptions,
): string[] {
  const own = shortHistories(connection, nowMs).filter((one) => one.workspaceId === workspaceId);
  const words = shortHistoryWords(own);
  return words === null ? [] : proseLines(`jumps ${inertText(words)}`, width);
}

export function ackCommand(cli: CliContext): CliCommand {
  return reportingCommand('ack')
    .description('Say that you look after an alert: no reminders; you hear when it grows, gets worse or ends.')
    .argument('<id>', 'an alert, or a message (msg_...) about several')
    .option(...BY_OPTION)
    .option('--note <text>', 'what is known')
    .examples('usage-ledger alerts ack alert_64740e88a27593a234fc --note "load test, ends Friday"')
    .action((id: string, options: { by?: string; note?: string }) =>
      cli.withContext(async (context) => {
        const writer = await context.existingWriter();
        const by = options.by ?? systemUser();
        const acknowledged = await writer.acknowledgeAlert({
          alertId: id,
          by,
          note: options.note ?? null,
          nowMs: context.clock.now(),
        });
        if (id.startsWith('msg_')) {
          const words = `${counted(acknowledged.length, 'alert')} of ${inertText(id)}`;
          cli.answer({ notification_id: id, by, acknowledged }, [`acknowledged by ${inertText(by)}: ${words}`]);
          return;
        }
        const record = alertRecord(context.reader().connection, id);
        cli.answer(record, [`${id} is acknowledged by ${inertText(by)}`]);
      }),
    );
}

/** Both moments have the fields of a notification; there is no run and no delivery behind them. */
function momentJson(moment: AlertMoment | null): object | null {
  if (moment === null) return null;
  const { credits, requests, threshold, reason, evidence, summary } = moment.notification;
  return { at: moment.at, credits, requests, threshold, reason, evidence, summary };
}

const OUTCOMES = {
  under_way: 'under way',
  unknown: 'may have arrived',
  delivered: 'delivered',
  refused: 'refused',
  given_up: 'given up',
} as const;

function messageLine({ event, form, outcome, attempts, last_error }: AlertMessage): string {
  const others = form === 'single' ? '' : form === 'group' ? ' with others' : ' with the daily summary';
  const why = last_error === null ? '' : `: ${inertText(last_error)}`;
  const tries = attempts > 1n ? `, tried ${counted(attempts, 'time')}` : '';
  return `${event}: ${OUTCOMES[outcome]}${others}${tries}${why}`;
}

function owedLine({ event, due_at, goes_with, failures }: OwedMessage): string {
  if (due_at === null) return `${event}: given up until a replay, or until the channel takes something`;
  const at = `${formatMinute(due_at)} UTC`;
  if (failures > 0n) return `${event}: tried again at ${at}`;
  if (goes_with === 'digest') return `${event}: waits for the daily summary of ${at}`;
  return goes_with === 'group' ? `${event}: waits for others until ${at}` : `${event}: due since ${at}`;
}

/** The newest entries; all are in `finance_history`. */
function entryLines({ entries, entry_count }: Evidence): string[] {
  const shown = entries.slice(-SHOWN_ENTRIES);
  const left = Number(entry_count) - shown.length;
  return [
    ...shown.map(({ entry_id, run_id, period, credits_delta, credits_after }) => {
      const delta = `${credits_delta < 0n ? '' : '+'}${formatInteger(credits_delta)}`;
      return `entry ${entry_id}  ${period}  ${delta} to ${formatInteger(credits_after)}  ${run_id}`;
    }),
    ...(left > 0 ? [`and ${formatInteger(left)} earlier entries, see finance_history`] : []),
  ];
}

/** Of the facts, those that the sentence or the table of figures has said already. */
const SAID: readonly string[] = ['Tenant', 'Name', 'Workspace', 'Credits', 'Requests', 'Forecast'];
/** A name that the sentence cuts is shown whole. */
const NAME_CHARACTERS = 80;
const LABEL_WIDTH = 12;

function alertHead(
  { alert }: AlertRecord,
  moments: AlertMoments,
  { because, ...options }: TableOptions & { because: string | null },
): string[] {
  const { now } = moments;
  const notTold = mutedWords(because);
  const since = alert.first_fired_at === null ? '' : ` since ${formatMinute(alert.first_fired_at)} UTC`;
  return [
    `${alert.alert_id}  ${alert.severity}  ${alert.state}${alert.state === 'firing' ? since : ''}`,
    ...(alert.state === 'firing' && notTold !== null ? [`nobody is told: ${notTold}`] : []),
    ...wrapped(now.notification.summary, '', options),
    ...longNames(now.notification, options),
    ...(now.notification.credits === null ? [] : ['', figuresTable(moments, options)]),
  ];
}

function alertFactLines({ now }: AlertMoments, options: TableOptions): string[] {
  const facts = alertFacts(now.notification).filter(({ label }) => !SAID.includes(label));
  return facts.flatMap(({ label, value }) => wrapped(inertText(value), label, options));
}

function alertChart({ now: { notification } }: AlertMoments): string[] {
  const { period, evidence } = notification;
  if (period === null || evidence.course === null) return [];
  const { rows, highest } = dayBars(period, evidence.course);
  if (highest <= 0) return [];
  return [
    ...rows.map(
      ({ period, bars, total }) => `${period.padEnd(LABEL_WIDTH)}${bars.padEnd(31)}  ${formatInteger(total)}`,
    ),
    `${''.padEnd(LABEL_WIDTH)}credits a day, the highest ${formatInteger(Math.round(highest))}`,
  ];
}

/** Commands to type next; one that does not fit goes on in a second line, as a shell takes it. */
function nextLines(cli: CliContext, because: string | null, { now: { notification } }: AlertMoments): string[] {
  const { width } = cli.tableOptions;
  const instead = commandBesideMute(because);
  const commands = instead === null ? nextCommands(notification, cli.now()) : [instead];
  if (commands.length === 0) return [];
  const lines = commands.flatMap((text) => {
    const command = text.replace(/^usage-ledger /, cli.commandLine(''));
    const [head, first, ...others] = command.split(' --');
    const fits = width === undefined || command.length + 2 <= width;
    if (fits || first === undefined) return [`  ${command}`];
    const begun = others.length === 0 ? head : `${head} --${first}`;
    return [`  ${begun} \\`, `    --${others.length === 0 ? first : others.join(' --')}`];
  });
  return ['Next', ...lines];
}

interface FigureRow {
  name: string;
  told: bigint | null;
  now: bigint | null;
}

/** The same figures of both moments; of one where they are the same, or nobody was told. */
function figuresTable({ told, now }: AlertMoments, options: TableOptions): string {
  const before = figureRows(now.notification).map(({ name, value }) => ({ name, now: value }));
  const earlier = new Map(
    told === null ? [] : figureRows(told.notification).map(({ name, value }) => [name, value] as const),
  );
  const rows = before.map((row): FigureRow => ({ ...row, told: earlier.get(row.name) ?? null }));
  const same = told === null || rows.every((row) => row.told === row.now);
  return renderTable<FigureRow>(
    rows,
    [
      { name: 'name', header: '' },
      ...(same || told === null
        ? []
        : [{ name: 'told' as const, header: `Told ${formatMinute(told.at)}`, align: 'right' as const }]),
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
    name === null || name === undefined || Array.from(name).length <= NAME_CHARACTERS
      ? []
      : wrapped(inertText(name), label ?? '', options),
  );
}

function wrapped(words: string, label: string, { width }: TableOptions): string[] {
  const indent = label === '' ? 0 : LABEL_WIDTH;
  const lines = width === undefined ? [words] : wrapText(words, Math.max(20, width - indent));
  return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(indent)}${line}`);
}
