import type { SilenceRequest } from '../../alerts/actions.ts';
import { checkIntervals, formatIntervals, type TimeIntervals } from '../../alerts/pipeline/time-intervals.ts';
import { alertRecord } from '../../alerts/queries/alert-record.ts';
import { anyTenantFits, type MutePreview, mutePreview, type SilenceRow } from '../../alerts/queries/silences.ts';
import { isSystemRule, SYSTEM_RULES, systemKind } from '../../alerts/rules/rules.ts';
import { requireAlerts } from '../../alerts/state/alert-store.ts';
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
import { listSilences } from '../../operations/alerts/list-silences.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
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
    .action((options: MuteOptions) => mute(cli, 'silence', options));
}

export function planCommand(cli: CliContext): CliCommand {
  return createMuteCommand('plan', 'Expect growth until a date. Growth alerts are recorded but not sent.')
    .option('--up-to <credits>', 'still send alerts above this')
    .examples(
      'usage-ledger alerts plan --tenant acme --period 2026-03 --up-to 500000 --until 2026-06-08 --reason "launch in March"',
    )
    .action((options: MuteOptions) => mute(cli, 'plan', options));
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
    .description('End a silence or plan early.')
    .argument('<id>', 'the silence or plan')
    .option(...BY_OPTION)
    .examples('usage-ledger alerts unsilence silence_1f2e3d4c5b6a')
    .action((silenceId: string, options: { by?: string }) =>
      cli.withContext(async (context) => {
        const writer = await context.existingWriter();
        const by = options.by ?? systemUser();
        await writer.endSilence({ silenceId, by, nowMs: context.clock.now() });
        cli.printResult({ silence_id: silenceId, ended_by: by }, [`${inertText(silenceId)} ended`]);
      }),
    );
}

/** The id is right-aligned so that it is never cut: `unsilence` needs all of it. */
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
    .option('--hours <span>', 'only in these hours, such as 22:00-06:00; a night counts to the day on which it starts')
    .option('--days-of-month <list>', 'only on these days of a month, such as 1-3,last')
    .option('--time-zone <name>', 'time zone of days and hours, such as Europe/Berlin (default: UTC)')
    .option('--reason <text>', 'reason (required)')
    .option(...BY_OPTION);
}

const PREVIEW_DAYS = 90;

async function mute(cli: CliContext, kind: SilenceRequest['kind'], options: MuteOptions): Promise<void> {
  await cli.withContext(async (context) => {
    const nowMs = context.clock.now();
    const { connection } = context.reader();
    const requests = silencedSubjects(connection, options.alert).map((subject) =>
      muteRequest(kind, options, { subject, nowMs }),
    );
    const writer = await context.existingWriter();
    const ids: string[] = [];
    for (const request of requests) ids.push(await writer.addSilence(request));
    const [[silenceId], [request]] = [ids, requests];
    if (request === undefined) return;
    const until = isoTime(request.untilMs);
    const begins = request.beginsMs === null ? null : isoTime(request.beginsMs);
    const span = `active ${begins === null ? '' : `from ${begins} `}until ${until}`;
    if (ids.length > 1) {
      cli.printResult({ silence_ids: ids, kind, begins, until }, [`${span}:`, ...ids.map((id) => `  ${id}`)]);
      return;
    }
    const { workspaceId, tenant } = request;
    const preview = mutePreview(connection, request, { workspaceId, sinceMs: nowMs - PREVIEW_DAYS * DAY_MS });
    cli.printResult({ silence_id: silenceId, kind, begins, until, last_90_days: preview }, [
      `${silenceId} is ${span}`,
      `  in the last ${PREVIEW_DAYS} days it would have muted ${previewWords(preview)}`,
    ]);
    if (!anyTenantFits(connection, tenant, workspaceId)) {
      cli.note(`warning: no tenant matches ${JSON.stringify(inertText(tenant))}, so nothing is muted yet`);
    }
  });
}

/** Returns the distinct subjects of the alerts behind an id; a single null without an id. */
function silencedSubjects(connection: LedgerDb, alertId: string | undefined): (MutedSubject | null)[] {
  if (alertId === undefined) return [null];
  const subjects = requireAlerts(connection, alertId).map((alert) => alertRecord(connection, alert.alertId).alert);
  const subjectOf = ({ workspace_id, rule, cause, tenant_id, period }: MutedSubject): string =>
    JSON.stringify([workspace_id, rule, cause, tenant_id, period]);
  return [...new Map(subjects.map((subject) => [subjectOf(subject), subject])).values()];
}

function previewWords({ notifications, alerts, rules }: MutePreview): string {
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

interface MutedSubject {
  rule: string;
  cause: string | null;
  workspace_id: string | null;
  tenant_id: string | null;
  period: string | null;
}

/**
 * Builds the request from the options, and fills missing ones from the alert of `--alert`. Throws UsageError for a rule
 * that does not exist, a system rule that is not named in full, a past date, and a plan without any limit.
 */
function muteRequest(
  kind: SilenceRequest['kind'],
  options: MuteOptions,
  { subject, nowMs }: { subject: MutedSubject | null; nowMs: number },
): Required<SilenceRequest> {
  const { reason } = options;
  if (!reason?.trim()) throw new UsageError('--reason is required', 'add --reason with the reason');
  const rule = options.rule ?? (kind === 'silence' && subject !== null ? fullName(subject.rule, subject.cause) : '*');
  const workspaceId = options.workspace ?? subject?.workspace_id ?? null;
  checkRule(rule, workspaceId);
  const tenant = options.tenant ?? subject?.tenant_id ?? '*';
  const upToCredits = parseUpTo(options.upTo);
  if (kind === 'plan' && upToCredits === null && /^\*+$/.test(tenant)) {
    throw new UsageError(
      'this plan would mute all growth of all tenants',
      'add --tenant, or the highest expected credits with --up-to',
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
    times: parseTimesOption(options),
    by: options.by ?? systemUser(),
  };
}

function checkRule(pattern: string, workspaceId: string | null): void {
  const quoted = JSON.stringify(pattern);
  // A system rule may be followed by a cause, as in `job_failed:disk`.
  const [name = '', cause] = pattern.split(':');
  const known = RULES.find((rule) => rule === name);
  const systemRule = known === undefined ? null : systemKind(known);
  if (systemRule !== null) {
    const causes = Object.keys(systemRule.causes).filter((each) => each !== '');
    if (cause !== undefined && !causes.includes(cause)) {
      const named = causes.map((each) => `${name}:${each}`);
      throw new UsageError(`there is no rule ${quoted}`, `use one of ${[name, ...named].join(', ')}`);
    }
    if (systemRule.scope === 'ledger' && workspaceId !== null) {
      throw new UsageError(`--rule ${quoted} is about the whole ledger`, 'remove --workspace');
    }
    return;
  }
  const matching = RULES.filter((rule) => matchesPattern(pattern, rule));
  if (matching.length === 0) throw new UsageError(`there is no rule ${quoted}`, `use one of ${RULES.join(', ')}`);
  if (matching.every(isSystemRule)) {
    throw new UsageError(
      `--rule ${quoted} matches only system alerts, which must be named in full`,
      `use one of ${SYSTEM_RULES.join(', ')}`,
    );
  }
}

function parseSpan({ from, until }: MuteOptions, nowMs: number): { beginsMs: number | null; untilMs: number } {
  if (until === undefined)
    throw new UsageError('--until is required', 'add a time such as 2026-04-01 or 2026-04-01T08:00:00Z');
  const untilMs = parseMoment('--until', until);
  if (untilMs <= nowMs) throw new UsageError(`--until ${until} is in the past`, 'use a future time');
  if (from === undefined) return { beginsMs: null, untilMs };
  const beginsMs = parseMoment('--from', from);
  if (beginsMs >= untilMs) throw new UsageError(`--from ${from} is not before --until ${until}`, 'use an earlier time');
  return { beginsMs, untilMs };
}

function parseTimesOption(options: MuteOptions): TimeIntervals {
  const times = {
    weekdays: options.weekdays ?? null,
    hours: options.hours ?? null,
    daysOfMonth: options.daysOfMonth ?? null,
    timeZone: options.timeZone ?? null,
  };
  checkIntervals(times);
  return times;
}

function parseUpTo(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  if (!/^\d{1,18}$/.test(text))
    throw new UsageError(
      `--up-to ${JSON.stringify(text)} is not a number of credits`,
      'use a whole number of at most 18 digits',
    );
  return BigInt(text);
}
