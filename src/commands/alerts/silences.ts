import type { SilencePreview, SilenceRow } from '../../alerts/queries/silences.ts';
import { formatMinute } from '../../core/date-time.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { formatIntervals } from '../../core/time-intervals.ts';
import { addPlan, addSilence, PREVIEW_DAYS } from '../../operations/alerts/add-silence.ts';
import { endSilence } from '../../operations/alerts/end-silence.ts';
import { listSilences } from '../../operations/alerts/list-silences.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import { requireText } from '../../operations/required-text.ts';
import { formatInteger, type TableColumn } from '../../reports/formats/columns.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION, firstRows, LIMIT_OPTION, parseMoment, printRows } from '../shared/options.ts';

export function silenceCommand(cli: CliContext): CliCommand {
  return createMuteCommand(
    'silence',
    'Mute alerts until a date, once or on a schedule. Muted alerts are still recorded and listed.',
  )
    .option('--rule <pattern>', 'only this rule; * matches every rule except system alerts')
    .examples(
      'usage-ledger alerts silence --tenant "trial-*" --until 2026-06-08 --reason "trials end in March"',
      'usage-ledger alerts silence --alert alert_64740e88a27593a234fc --until 2026-06-08 --reason "known"',
    )
    .action((options: MuteOptions) => mute(cli, addSilence, options));
}

export function planCommand(cli: CliContext): CliCommand {
  return createMuteCommand('plan', 'Expect growth until a date. Growth alerts are recorded but not sent.')
    .option('--up-to <credits>', 'still send alerts above this')
    .examples(
      'usage-ledger alerts plan --tenant acme --period 2026-03 --up-to 500000 --until 2026-06-08 --reason "launch in March"',
    )
    .action((options: MuteOptions) => mute(cli, addPlan, options));
}

export function silencesCommand(cli: CliContext): CliCommand {
  return reportingCommand('silences')
    .description('List active silences and plans, and how many alerts they muted.')
    .option('--all', 'include ended ones')
    .option('--workspace <id>', 'only silences that apply to this workspace')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger alerts silences --all')
    .action(({ all = false, workspace, limit }: { all?: boolean; workspace?: string; limit?: number }) =>
      cli.withContext((context) => {
        const matching = [...listSilences.run(scopeOf(context), { all, workspace }, ALL_ROWS).rows];
        if (matching.length === 0) cli.note('no active silence or plan');
        printRows(cli, firstRows(cli, matching, limit), SILENCE_COLUMNS);
      }),
    );
}

export function unsilenceCommand(cli: CliContext): CliCommand {
  return reportingCommand('unsilence')
    .description('End a silence or an announced plan before its time.')
    .argument('<id>', 'the silence or plan')
    .option(...BY_OPTION)
    .examples('usage-ledger alerts unsilence silence_1f2e3d4c5b6a')
    .action((silenceId: string, options: { by?: string }) =>
      cli.withContext(async (context) => {
        const { document } = await endSilence.run(scopeOf(context, options), { silence_id: silenceId });
        cli.printResult(document, [`${inertText(silenceId)} ended`]);
      }),
    );
}

/**
 * The columns of `silences`. The id is right-aligned because such a column is never cut: `unsilence` needs the whole
 * id.
 */
const SILENCE_COLUMNS: TableColumn<SilenceRow>[] = [
  { name: 'silence_id', header: 'Id', align: 'right' },
  { name: 'rule', header: 'Mutes', words: (_, row) => silenceScope(row) },
  { name: 'until', header: 'Until', align: 'right', words: shortTime },
  { name: 'muted', header: 'Muted', align: 'right' },
  { name: 'reason', header: 'Reason', words: (reason, { created_by }) => `${reason} (${created_by})` },
];

/** Describes what a silence mutes, such as `drop of tenant acme in 2026-03, workspace ws-1`. */
function silenceScope(row: SilenceRow): string {
  const { kind, rule, tenant, period, workspace_id, up_to_credits, begins_at, weekdays, hours } = row;
  const all = kind === 'plan' ? 'growth' : 'all alerts';
  return [
    rule === '*' ? all : rule,
    ...(tenant === '*' ? [] : [` of tenant ${tenant}`]),
    ...(period === '*' ? [] : [` in ${period}`]),
    ...(up_to_credits === null ? [] : [` up to ${formatInteger(up_to_credits)}`]),
    ...(workspace_id === null ? [] : [`, workspace ${workspace_id}`]),
    formatIntervals({ weekdays, hours, daysOfMonth: row.days_of_month, timeZone: row.time_zone }),
    ...(begins_at === null ? [] : [` from ${shortTime(begins_at)}`]),
  ].join('');
}

/** Formats a time as `2026-04-01 08:00`, or as `2026-04-01` at midnight UTC. */
function shortTime(at: string): string {
  return formatMinute(at).replace(/ 00:00$/, '');
}

function createMuteCommand(name: string, description: string): CliCommand {
  return reportingCommand(name)
    .description(description)
    .option('--alert <id>', 'use workspace, tenant, period and rule of this alert, or of each in a message (msg_...)')
    .option('--tenant <pattern>', 'only these tenants; * matches anything')
    .option('--period <pattern>', 'only these periods, such as 2026-03 or 2026-*')
    .option('--workspace <id>', 'only this workspace')
    .option(
      '--until <date>',
      'the end (required): a time such as 2026-04-01T08:00:00Z, or a day, which means 00:00 UTC',
    )
    .option('--from <date>', 'the start (default: now)')
    .option('--weekdays <list>', 'only on these days, such as sat,sun or mon-fri')
    .option('--hours <span>', 'only in these hours, such as 22:00-06:00; hours after midnight belong to the day before')
    .option('--days-of-month <list>', 'only on these days of a month, such as 1-3,last')
    .option(
      '--time-zone <name>',
      'time zone of days and hours, such as Europe/Berlin (default: that of the configuration)',
    )
    .option('--reason <text>', 'reason (required)')
    .option(...BY_OPTION);
}

async function mute(
  cli: CliContext,
  operation: typeof addSilence | typeof addPlan,
  options: MuteOptions,
): Promise<void> {
  await cli.withContext(async (context) => {
    const { document, notes } = await operation.run(scopeOf(context, options), muteInput(options));
    const begins = document.begins === null ? '' : `from ${document.begins} `;
    const span = `active ${begins}until ${document.until}`;
    if ('silence_ids' in document) {
      cli.printResult(document, [`${span}:`, ...document.silence_ids.map((id) => `  ${id}`)]);
      return;
    }
    cli.printResult(document, [
      `${document.silence_id} is ${span}`,
      `  in the last ${PREVIEW_DAYS} days it would have muted ${previewWords(document.last_90_days)}`,
    ]);
    cli.noteAll(notes);
  });
}

function previewWords({ notifications, alerts, rules }: SilencePreview): string {
  if (notifications === 0) return 'nothing';
  const byRule = rules.map((each) => `${formatInteger(each.notifications)} ${each.rule}`).join(', ');
  return `${counted(notifications, 'notification')} of ${counted(alerts, 'alert')} (${byRule})`;
}

interface MuteOptions {
  alert?: string;
  workspace?: string;
  rule?: string;
  tenant?: string;
  period?: string;
  from?: string;
  until?: string;
  weekdays?: string;
  hours?: string;
  daysOfMonth?: string;
  timeZone?: string;
  reason?: string;
  by?: string;
  upTo?: string;
}

function muteInput({ until, from, upTo, ...options }: MuteOptions) {
  const reason = requireText('reason', options.reason ?? '');
  if (until === undefined) {
    throw new UsageError('--until is required', 'add a time such as 2026-04-01 or 2026-04-01T08:00:00Z');
  }
  return {
    alert_id: options.alert,
    workspace: options.workspace,
    rule: options.rule,
    tenant: options.tenant,
    period: options.period,
    from: from === undefined ? undefined : parseMoment('--from', from),
    until: parseMoment('--until', until),
    weekdays: options.weekdays,
    hours: options.hours,
    days_of_month: options.daysOfMonth,
    time_zone: options.timeZone,
    reason,
    up_to: upTo === undefined ? undefined : parseUpTo(upTo),
  };
}

function parseUpTo(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new UsageError(
    `--up-to ${JSON.stringify(text)} is not a number of credits`,
    'use a whole number of at most 18 digits',
  );
}
