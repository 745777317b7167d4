import type { SilenceRequest } from '../../alerts/notify/actions.ts';
import { isSelfRule, ownRule, SELF_RULES } from '../../alerts/rules/table.ts';
import { checkTimes, type MuteTimes } from '../../alerts/track/mute-times.ts';
import { UsageError } from '../../core/errors.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { fullName, RULES } from '../../core/text/alert-words.ts';
import { matchesPattern } from '../../core/text/patterns.ts';
import { parseMoment } from '../shared/moment.ts';

/** The options of `alerts silence` and `alerts plan`. */
export interface MuteOptions {
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

/** Whom an alert is about: what `--alert` stands for. */
export interface MutedSubject {
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
export function muteRequest(
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
  const own = known === undefined ? null : ownRule(known);
  if (own !== null) {
    if (cause !== undefined && !own.causes.includes(cause)) {
      const named = own.causes.map((each) => `${name}:${each}`);
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
