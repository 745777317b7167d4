import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { addPeriods, periodStartMs } from '../../core/period.ts';
import { causeMessage } from '../rules/message.ts';
import { findsGrowth, isSystemRule, systemRule } from '../rules/rules.ts';
import type { Facts } from './facts/facts.ts';
import { roundedUp } from './facts/names.ts';

/** Returns command lines for an alert, with its id. They contain no text from outside, so they are safe to copy. */
export function nextCommands(facts: Facts, nowMs: number): string[] {
  const { alert_id, rule, state } = facts;
  const about = (command: string, rest: string) => `usage-ledger alerts ${command} ${alert_id} ${rest}`.trim();
  if (isSystemRule(rule)) {
    return state === 'resolved' ? [] : [...commandsOf(facts), about('ack', '--note "..."')];
  }
  const feedback = about('feedback', 'real # expected, false');
  if (state === 'resolved' || state === 'expired') return [feedback];
  const silence = muting('silence', facts, nowMs);
  return [
    about('ack', '--note "..."'),
    silence,
    ...(isPlannable(facts) ? [muting('plan', facts, nowMs)] : []),
    feedback,
  ];
}

/** Returns the commands in the remedy of a system alert. */
function commandsOf(facts: Facts): string[] {
  const rule = systemRule(facts.rule);
  const todo = rule === null ? '' : causeMessage(rule.message, facts).todo;
  return [...todo.matchAll(/`(usage-ledger [^`]+)`/g)].flatMap(([, command]) => command ?? []);
}

/** Returns the command that mutes an alert: a plan up to its forecast, or a silence if no plan fits. */
export function muteCommand(facts: Facts, nowMs: number): string {
  return muting(isPlannable(facts) ? 'plan' : 'silence', facts, nowMs);
}

function isPlannable({ rule, tenant_id }: Facts): boolean {
  return findsGrowth(rule) && tenant_id !== null;
}

function muting(command: 'silence' | 'plan', facts: Facts, nowMs: number): string {
  // An alert about a month ends three months after the month began, unless configured otherwise. The silence lasts a
  // week longer, so that the message about that end is not sent either.
  const gone = facts.period === null ? nowMs : periodStartMs(addPeriods(facts.period, 3));
  const until = isoTime(Math.max(gone, nowMs) + 7 * DAY_MS).slice(0, 10);
  const bound = command === 'plan' ? `--up-to ${planned(facts)} ` : '';
  return `usage-ledger alerts ${command} --alert ${facts.alert_id} ${bound}--until ${until} --reason "..."`;
}

/** Returns the forecast plus a fifth, as the limit of a plan. */
function planned({ credits, evidence }: Facts): bigint {
  const likely = (credits?.previous ?? 0n) + BigInt(evidence.at_stake_credits ?? credits?.change ?? 0n);
  return roundedUp((likely * 6n) / 5n + 1n);
}
