import type { SilenceRequest } from '../../alerts/notify/actions.ts';
import { isSelfRule, ownRule, SELF_RULES } from '../../alerts/rules/table.ts';
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
  until?: string;
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
): SilenceRequest {
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
    untilMs: parseUntil(options.until, nowMs),
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

function parseUntil(text: string | undefined, nowMs: number): number {
  if (text === undefined) throw new UsageError('--until is needed', 'write it as 2026-04-01 or 2026-04-01T08:00:00Z');
  const untilMs = parseMoment('--until', text);
  if (untilMs <= nowMs) throw new UsageError(`--until ${text} has passed`, 'name a time to come');
  return untilMs;
}

function parseCredits(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  if (!/^\d{1,18}$/.test(text)) throw new UsageError(`--up-to ${JSON.stringify(text)} is not a number of credits`);
  return BigInt(text);
}
