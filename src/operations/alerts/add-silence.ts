import { z } from 'zod';
import type { SilenceRequest } from '../../alerts/actions.ts';
import { requireAlertRecord } from '../../alerts/queries/alert-record.ts';
import { hasMatchingTenant, previewSilence } from '../../alerts/queries/silences.ts';
import { requireAlerts } from '../../alerts/state/alert-store.ts';
import type { Config } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { InputError } from '../../core/errors.ts';
import { RULES, ruleNameWithCause } from '../../core/text/alert-words.ts';
import { checkIntervals, type TimeIntervals } from '../../core/time-intervals.ts';
import { UTC } from '../../core/time-zone.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { actorText, type ChangeResult, changeOperation, type Scope } from '../operation.ts';
import { requireText } from '../required-text.ts';
import { exactInteger, idText, momentText } from '../schemas.ts';
import { checkMutedRule } from './muted-rule.ts';

const MAX_REASON_CHARACTERS = 500;
/**
 * The preview of a new silence looks back this many days. It counts the notifications that the silence would have
 * muted.
 */
export const PREVIEW_DAYS = 90;

const pattern = z.string().min(1).max(1024);

const muteShape = {
  alert_id: idText
    .optional()
    .describe('use workspace, tenant, period and rule of this alert, or of each in a message (msg_...)'),
  tenant: pattern.optional().describe('only these tenants; `*` matches anything'),
  period: pattern.optional().describe('only these months, such as 2026-03 or 2026-*'),
  workspace: idText.optional().describe('only this workspace'),
  until: momentText.describe('the end'),
  from: momentText.optional().describe('the start; now if it is missing'),
  weekdays: pattern.optional().describe('only on these days, such as sat,sun or mon-fri'),
  hours: pattern
    .optional()
    .describe('only in these hours, such as 22:00-06:00; hours after midnight belong to the day before'),
  days_of_month: pattern.optional().describe('only on these days of a month, such as 1-3,last'),
  time_zone: pattern
    .optional()
    .describe('the time zone of days and hours, such as Europe/Berlin; if missing, the time zone of the configuration'),
  reason: z.string().max(MAX_REASON_CHARACTERS).describe('the reason'),
};

const silenceInput = z.strictObject({
  ...muteShape,
  rule: pattern.optional().describe('only this rule; `*` matches every rule except system alerts'),
});
const planInput = z.strictObject({
  ...muteShape,
  up_to: exactInteger.optional().describe('still send alerts above this number of credits'),
});

type MuteInput = z.output<typeof silenceInput> & Pick<z.output<typeof planInput>, 'up_to'>;

const spanShape = {
  kind: z.enum(['silence', 'plan']),
  begins: z.string().nullable().describe('null: at once'),
  until: z.string(),
};
const preview = z.strictObject({
  notifications: z.int(),
  alerts: z.int(),
  rules: z.array(z.strictObject({ rule: z.enum(RULES), notifications: z.int() })),
});
const output = z.union([
  z.strictObject({
    silence_id: z.string(),
    ...spanShape,
    last_90_days: preview.describe('the notifications of the last 90 days that it would have muted'),
  }),
  z.strictObject({ silence_ids: z.array(z.string()), ...spanShape }).describe('for a message with several alerts'),
]);

export const addSilence = changeOperation({
  name: 'silences.add',
  summary: 'Mute alerts until a date, once or on a schedule',
  role: 'operate',
  input: silenceInput,
  output,
  http: { method: 'POST', path: '/silences' },
  command: 'alerts silence',
  run: (scope, input) => mute(scope, 'silence', input),
});

export const addPlan = changeOperation({
  name: 'plans.add',
  summary: 'Expect growth until a date: growth alerts are recorded and not sent',
  role: 'operate',
  input: planInput,
  output,
  http: { method: 'POST', path: '/plans' },
  command: 'alerts plan',
  run: (scope, input) => mute(scope, 'plan', input),
});

async function mute(
  scope: Scope,
  kind: SilenceRequest['kind'],
  input: MuteInput,
): Promise<ChangeResult<z.output<typeof output>>> {
  const { context, connection } = scope;
  const nowMs = context.clock.now();
  const requests = mutedSubjects(connection, input.alert_id).map((subject) =>
    muteRequest(scope, kind, { input, subject, nowMs }),
  );
  const writer = await context.existingWriter();
  const ids: string[] = [];
  for (const request of requests) ids.push(await writer.addSilence(request));
  const [[silenceId], [request]] = [ids, requests];
  if (request === undefined || silenceId === undefined) throw new Error('an alert id has at least one alert');
  const { workspaceId, tenant, untilMs, beginsMs } = request;
  const span = { kind, begins: beginsMs === null ? null : isoTime(beginsMs), until: isoTime(untilMs) };
  if (ids.length > 1) return { applied: true, document: { silence_ids: ids, ...span }, notes: [] };
  const sinceMs = nowMs - PREVIEW_DAYS * DAY_MS;
  const muted = previewSilence(connection, request, { workspaceId, sinceMs });
  const notes = hasMatchingTenant(connection, tenant, workspaceId)
    ? []
    : [`warning: no tenant matches ${JSON.stringify(tenant)}, so nothing is muted yet`];
  return { applied: true, document: { silence_id: silenceId, ...span, last_90_days: muted }, notes };
}

interface MutedSubject {
  rule: string;
  cause: string | null;
  workspace_id: string | null;
  tenant_id: string | null;
  period: string | null;
}

/**
 * Returns the subjects (rule, workspace, tenant, period) of the alerts that an alert id or message id stands for, each
 * subject once. Without an id, returns a list with a single null.
 */
function mutedSubjects(connection: LedgerDb, alertId: string | undefined): (MutedSubject | null)[] {
  if (alertId === undefined) return [null];
  const subjects = requireAlerts(connection, alertId).map(
    (alert) => requireAlertRecord(connection, alert.alertId).alert,
  );
  const subjectOf = ({ workspace_id, rule, cause, tenant_id, period }: MutedSubject): string =>
    JSON.stringify([workspace_id, rule, cause, tenant_id, period]);
  return [...new Map(subjects.map((subject) => [subjectOf(subject), subject])).values()];
}

/**
 * Builds the request for a silence or plan. Fields that the caller left out are filled in from the alert. Throws
 * InputError for a rule that does not exist, a system rule that is not written in full, an end in the past, and a plan
 * that would mute all growth.
 */
function muteRequest(
  scope: Scope,
  kind: SilenceRequest['kind'],
  { input, subject, nowMs }: { input: MuteInput; subject: MutedSubject | null; nowMs: number },
): Required<SilenceRequest> {
  const reason = requireText('reason', input.reason);
  const rule =
    input.rule ?? (kind === 'silence' && subject !== null ? ruleNameWithCause(subject.rule, subject.cause) : '*');
  const workspaceId = input.workspace ?? subject?.workspace_id ?? null;
  checkMutedRule(rule, workspaceId);
  const tenant = input.tenant ?? subject?.tenant_id ?? '*';
  const upToCredits = creditsUpTo(input.up_to);
  if (kind === 'plan' && upToCredits === null && /^\*+$/.test(tenant)) {
    throw new InputError(
      () => 'this plan would mute all growth of all tenants',
      (nameOf) => `add ${nameOf('tenant')}, or the highest expected credits with ${nameOf('up_to')}`,
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
    period: input.period ?? subject?.period ?? '*',
    ...spanOf(input, nowMs),
    times: intervalsOf(input, timezoneOf(scope.context.config, workspaceId)),
    by: actorText(scope.actor),
  };
}

function spanOf({ from, until }: MuteInput, nowMs: number): { beginsMs: number | null; untilMs: number } {
  if (until <= nowMs) {
    throw new InputError((nameOf) => `${nameOf('until')} ${isoTime(until)} is in the past`, 'use a future time');
  }
  if (from === undefined) return { beginsMs: null, untilMs: until };
  if (from < until) return { beginsMs: from, untilMs: until };
  throw new InputError(
    (nameOf) => `${nameOf('from')} ${isoTime(from)} is not before ${nameOf('until')} ${isoTime(until)}`,
    'use an earlier time',
  );
}

function intervalsOf(input: MuteInput, timezone: string): TimeIntervals {
  const { weekdays = null, hours = null, days_of_month: daysOfMonth = null, time_zone: timeZone = null } = input;
  const times = { weekdays, hours, daysOfMonth, timeZone };
  checkIntervals(times);
  const isRecurring = weekdays !== null || hours !== null || daysOfMonth !== null;
  return isRecurring && timeZone === null && timezone !== UTC ? { ...times, timeZone: timezone } : times;
}

/** Returns the time zone of a workspace; for all workspaces (null), the top-level time zone of the configuration. */
function timezoneOf({ workspaces, timezone }: Config, workspaceId: string | null): string {
  return workspaces.find(({ id }) => id === workspaceId)?.timezone ?? timezone;
}

const MAX_CREDIT_DIGITS = 18;

function creditsUpTo(credits: bigint | number | undefined): bigint | null {
  if (credits === undefined) return null;
  const text = String(credits);
  if (/^\d+$/.test(text) && text.length <= MAX_CREDIT_DIGITS) return BigInt(text);
  throw new InputError(
    (nameOf) => `${nameOf('up_to')} ${text} is not a number of credits`,
    `use a whole number of at most ${MAX_CREDIT_DIGITS} digits`,
  );
}
