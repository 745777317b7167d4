import type { SilenceRequest } from '../../alerts/notify/actions.ts';
import { alertRecord } from '../../alerts/queries/alert-record.ts';
import {
  anyTenantFits,
  type MutePreview,
  mutePreview,
  type SilenceRow,
  silenceRows,
} from '../../alerts/queries/silences.ts';
import { requireAlerts } from '../../alerts/track/alert-rows.ts';
import { checkTimes, type MuteTimes, timesWords } from '../../alerts/track/mute-times.ts';
import { isSelfRule, ownKind, SELF_RULES } from '../../alerts/wording/kinds/table.ts';
import { isoTime } from '../../core/clock.ts';
import { formatMinute } from '../../core/date-time.ts';
import { DAY_MS } from '../../core/durations.ts';
import { UsageError } from '../../core/errors.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { fullName, RULES } from '../../core/text/alert-words.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { counted } from '../../core/text/words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { formatInteger, type TableColumn } from '../../reports/formats/columns.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { BY_OPTION, firstRows, LIMIT_OPTION, parseMoment, putRows } from '../shared/options.ts';

export function silenceCommand(cli: CliContext): CliCommand {
  return muteCommand(
    'silence',
    'Mute alerts until a date, or again and again until then. They are still recorded and listed.',
  )
    .option('--rule <pattern>', 'only this rule; * stands for anything but our own faults')
    .examples(
      'usage-ledger alerts silence --tenant "trial-*" --until 2026-06-08 --reason "trials end in March"',
      'usage-ledger alerts silence --alert alert_64740e88a27593a234fc --until 2026-06-08 --reason "known"',
    )
    .action((options: MuteOptions) => mute(cli, 'silence', options));
}

export function planCommand(cli: CliContext): CliCommand {
  return muteCommand(
    'plan',
    'Expect growth until a date: alerts of jump, new_spend and workspace_jump are recorded, not told.',
  )
    .option('--up-to <credits>', 'send alerts beyond this')
    .examples(
      'usage-ledger alerts plan --tenant acme --period 2026-03 --up-to 500000 --until 2026-06-08 --reason "launch in March"',
    )
    .action((options: MuteOptions) => mute(cli, 'plan', options));
}

export function silencesCommand(cli: CliContext): CliCommand {
  return reportingCommand('silences')
    .description('List the silences and plans in force, and how much they muted.')
    .option('--all', 'also those that have ended')
    .option('--workspace <id>', 'only what mutes this workspace')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger alerts silences --all')
    .action(({ all = false, workspace, limit }: { all?: boolean; workspace?: string; limit?: number }) =>
      cli.withContext((context) => {
        requireKnownWorkspace(context, workspace);
        const now = isoTime(context.clock.now());
        const fitting = silenceRows(context.reader().connection, { now, all, workspaceId: workspace });
        if (fitting.length === 0) cli.note('nothing is muted');
        putRows(cli, firstRows(cli, fitting, limit), SILENCE_COLUMNS);
      }),
    );
}

export function unsilenceCommand(cli: CliContext): CliCommand {
  return reportingCommand('unsilence')
    .description('End a silence or a plan before its time.')
    .argument('<id>', 'the silence or plan')
    .option(...BY_OPTION)
    .examples('usage-ledger alerts unsilence silence_1f2e3d4c5b6a')
    .action((silenceId: string, options: { by?: string }) =>
      cli.withContext(async (context) => {
        const writer = await context.existingWriter();
        const by = options.by ?? systemUser();
        await writer.endSilence({ silenceId, by, nowMs: context.clock.now() });
        cli.answer({ silence_id: silenceId, ended_by: by }, [`${inertText(silenceId)} has ended`]);
      }),
    );
}

/** The id is set to the right, so that it is never cut: it is what is typed to end it. */
const SILENCE_COLUMNS: TableColumn<SilenceRow>[] = [
  { name: 'silence_id', header: 'Id', align: 'right' },
  { name: 'rule', header: 'Mutes', words: (_, row) => mutedWords(row) },
  { name: 'until', header: 'Until', align: 'right', words: moment },
  { name: 'muted', header: 'Muted', align: 'right' },
  { name: 'reason', header: 'Reason', words: (reason, { created_by }) => `${reason} (${created_by})` },
];

/** `drop of tenant acme in 2026-03, workspace ws-1`. */
function mutedWords(row: SilenceRow): string {
  const { kind, rule, tenant, period, workspace_id, up_to_credits, begins_at, weekdays, hours } = row;
  const all = kind === 'plan' ? 'growth' : 'all alerts';
  return [
    rule === '*' ? all : rule,
    ...(tenant === '*' ? [] : [` of tenant ${tenant}`]),
    ...(period === '*' ? [] : [` in ${period}`]),
    ...(up_to_credits === null ? [] : [` up to ${formatInteger(up_to_credits)}`]),
    ...(workspace_id === null ? [] : [`, workspace ${workspace_id}`]),
    timesWords({ weekdays, hours, daysOfMonth: row.days_of_month, timeZone: row.time_zone }),
    ...(begins_at === null ? [] : [` from ${moment(begins_at)}`]),
  ].join('');
}

/** `2026-04-01` where that day begins, else `2026-04-01 08:00`. */
function moment(at: string): string {
  return formatMinute(at).replace(/ 00:00$/, '');
}

function muteCommand(name: string, description: string): CliCommand {
  return reportingCommand(name)
    .description(description)
    .option('--alert <id>', 'workspace, tenant, period and rule of this alert, or of each in a message (msg_...)')
    .option('--tenant <pattern>', 'only these tenants; * stands for anything')
    .option('--period <pattern>', 'only these periods, such as 2026-03 or 2026-*')
    .option('--workspace <id>', 'only this workspace')
    .option(
      '--until <date>',
      'the end (needed): a time such as 2026-04-01T08:00:00Z, or a day, of which it ends at 00:00 UTC',
    )
    .option('--from <date>', 'the beginning (default: now)')
    .option('--weekdays <list>', 'on these days only, such as sat,sun or mon-fri')
    .option('--hours <span>', 'in these hours only, such as 22:00-06:00; a night belongs to the day on which it begins')
    .option('--days-of-month <list>', 'on these days of a month only, such as 1-3,last')
    .option('--time-zone <name>', 'of days and hours, such as Europe/Berlin (default: UTC)')
    .option('--reason <text>', 'why (needed)')
    .option(...BY_OPTION);
}

const PREVIEW_DAYS = 90;

async function mute(cli: CliContext, kind: SilenceRequest['kind'], options: MuteOptions): Promise<void> {
  await cli.withContext(async (context) => {
    const nowMs = context.clock.now();
    const { connection } = context.reader();
    const requests = subjectsOf(connection, options.alert).map((subject) =>
      muteRequest(kind, options, { subject, nowMs }),
    );
    const writer = await context.existingWriter();
    const ids: string[] = [];
    for (const request of requests) ids.push(await writer.addSilence(request));
    const [[silenceId], [request]] = [ids, requests];
    if (request === undefined) return;
    const until = isoTime(request.untilMs);
    const begins = request.beginsMs === null ? null : isoTime(request.beginsMs);
    const span = `in force ${begins === null ? '' : `from ${begins} `}until ${until}`;
    if (ids.length > 1) {
      cli.answer({ silence_ids: ids, kind, begins, until }, [`${span}:`, ...ids.map((id) => `  ${id}`)]);
      return;
    }
    const { workspaceId, tenant } = request;
    const preview = mutePreview(connection, request, { workspaceId, sinceMs: nowMs - PREVIEW_DAYS * DAY_MS });
    cli.answer({ silence_id: silenceId, kind, begins, until, last_90_days: preview }, [
      `${silenceId} is ${span}`,
      `  in the last ${PREVIEW_DAYS} days it would have muted ${previewWords(preview)}`,
    ]);
    if (!anyTenantFits(connection, tenant, workspaceId)) {
      cli.note(`warning: no tenant of the ledger fits ${JSON.stringify(inertText(tenant))}, so nothing is muted yet`);
    }
  });
}

/** Whom the alerts are about that an id stands for, each once; null without an id. */
function subjectsOf(connection: LedgerDb, alertId: string | undefined): (MutedSubject | null)[] {
  if (alertId === undefined) return [null];
  const subjects = requireAlerts(connection, alertId).map((alert) => alertRecord(connection, alert.alertId).alert);
  const subjectOf = ({ workspace_id, rule, cause, tenant_id, period }: MutedSubject): string =>
    JSON.stringify([workspace_id, rule, cause, tenant_id, period]);
  return [...new Map(subjects.map((subject) => [subjectOf(subject), subject])).values()];
}

function previewWords({ news, alerts, rules }: MutePreview): string {
  if (news === 0) return 'nothing';
  const byRule = rules.map((each) => `${formatInteger(each.news)} ${each.rule}`).join(', ');
  return `${counted(news, 'notification')} of ${counted(alerts, 'alert')} (${byRule})`;
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

interface MutedSubject {
  rule: string;
  cause: string | null;
  workspace_id: string | null;
  tenant_id: string | null;
  period: string | null;
}

/**
 * What is asked for, with what `--alert` fills in; options that are given count more. Raises `usage` for what no rule
 * fits, for our own faults that are not named in full, for dates that have passed and for a plan without any limit.
 */
function muteRequest(
  kind: SilenceRequest['kind'],
  options: MuteOptions,
  { subject, nowMs }: { subject: MutedSubject | null; nowMs: number },
): Required<SilenceRequest> {
  const { reason } = options;
  if (!reason?.trim()) throw new UsageError('--reason is needed', 'say why: others will ask');
  const rule = options.rule ?? (kind === 'silence' && subject !== null ? fullName(subject.rule, subject.cause) : '*');
  const workspaceId = options.workspace ?? subject?.workspace_id ?? null;
  checkRule(rule, workspaceId);
  const tenant = options.tenant ?? subject?.tenant_id ?? '*';
  const upToCredits = parseCredits(options.upTo);
  if (kind === 'plan' && upToCredits === null && /^\*+$/.test(tenant)) {
    throw new UsageError(
      'this plan would mute all growth of everybody',
      'name the tenants with --tenant, or the most that is expected with --up-to',
    );
  }
  return {
    kind,
    rule,
    tenant,
    upToCredits,
    reason,
    nowMs,
    workspaceId,
    period: options.period ?? subject?.period ?? '*',
    ...parseSpan(options, nowMs),
    times: parseTimes(options),
    by: options.by ?? systemUser(),
  };
}

function checkRule(pattern: string, workspaceId: string | null): void {
  const given = JSON.stringify(pattern);
  // A cause may stand behind the name of a rule of our own.
  const [name = '', cause] = pattern.split(':');
  const known = RULES.find((rule) => rule === name);
  const own = known === undefined ? null : ownKind(known);
  if (own !== null) {
    const causes = Object.keys(own.causes).filter((each) => each !== '');
    if (cause !== undefined && !causes.includes(cause)) {
      const named = causes.map((each) => `${name}:${each}`);
      throw new UsageError(`there is no rule ${given}`, `give one of ${[name, ...named].join(', ')}`);
    }
    if (own.ofLedger === true && workspaceId !== null) {
      throw new UsageError(`--rule ${given} is about the ledger as a whole, in no workspace`, 'leave out --workspace');
    }
    return;
  }
  const fitting = RULES.filter((rule) => matchesPattern(pattern, rule));
  if (fitting.length === 0) throw new UsageError(`there is no rule ${given}`, `the rules are ${RULES.join(', ')}`);
  if (fitting.every(isSelfRule)) {
    throw new UsageError(
      `--rule ${given} fits only alerts about our own faults, which are muted by name alone`,
      `give one of ${SELF_RULES.join(', ')}`,
    );
  }
}

function parseSpan({ from, until }: MuteOptions, nowMs: number): { beginsMs: number | null; untilMs: number } {
  if (until === undefined) throw new UsageError('--until is needed', 'write it as 2026-04-01 or 2026-04-01T08:00:00Z');
  const untilMs = parseMoment('--until', until);
  if (untilMs <= nowMs) throw new UsageError(`--until ${until} has passed`, 'name a time to come');
  if (from === undefined) return { beginsMs: null, untilMs };
  const beginsMs = parseMoment('--from', from);
  if (beginsMs >= untilMs)
    throw new UsageError(`--from ${from} is not before --until ${until}`, 'name an earlier time');
  return { beginsMs, untilMs };
}

function parseTimes(options: MuteOptions): MuteTimes {
  const times = {
    weekdays: options.weekdays ?? null,
    hours: options.hours ?? null,
    daysOfMonth: options.daysOfMonth ?? null,
    timeZone: options.timeZone ?? null,
  };
  checkTimes(times);
  return times;
}

function parseCredits(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  if (!/^\d{1,18}$/.test(text)) throw new UsageError(`--up-to ${JSON.stringify(text)} is not a number of credits`);
  return BigInt(text);
}
