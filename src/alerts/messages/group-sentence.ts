import type { NotificationEvent } from '../../core/text/alert-words.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { causeMessage } from '../rules/message.ts';
import { RULE_TABLE, type UsageRule } from '../rules/rules.ts';
import type { TenantCounts } from '../state/bulk-pending.ts';
import type { Facts } from './facts/facts.ts';
import { grouped, roundedForecast, signed } from './facts/names.ts';
import { baselineMonth, forecast, monthCredits, monthOf, placeOf, settled, subjectOf } from './facts/phrases.ts';
import { linesOf, type MessageText } from './message.ts';
import { eventWords, monthWords, readWords } from './sentence.ts';

const MAX_NAMED_MEMBERS = 3;
/** Events with which a condition begins or gets worse. */
const BEGINS: readonly NotificationEvent[] = ['opened', 'again', 'worse'];

/**
 * Returns the title and the lines of a message about several alerts of one rule. `all` lists the alerts, largest change
 * first.
 */
export function groupText(all: readonly Facts[], ofAll: TenantCounts): MessageText {
  const [first] = all;
  if (first === undefined) return { title: '', lines: [] };
  const rule = RULE_TABLE[first.rule];
  if (rule.type === 'system') {
    const names = `${firstOf(all.map(placeOf), MAX_NAMED_MEMBERS)}.`;
    const where = counted(all.length, 'workspace');
    const { found, ended, todo } = causeMessage(rule.message, first);
    return first.event === 'closed'
      ? { title: ended(where), lines: [`Workspaces: ${names}`] }
      : { title: found(where), lines: [`Workspaces: ${names}`, todo] };
  }
  const isEnd = hasEnded(all);
  return {
    title: isEnd ? endOfMany(rule, all) : `${foundOfMany(rule, all, ofAll)}${togetherWords(all)}`,
    lines: linesOf([
      ...(isEnd ? [whyOfMany(all)] : changeSentences(rule, all)),
      readWords(first),
      isEnd ? '' : monthWords(first),
    ]),
  };
}

/** Returns a sentence with the largest alerts; empty for system alerts, because their lines name the workspaces. */
export function largestWords(all: readonly Facts[]): string {
  const isSystem = all.some(({ rule }) => RULE_TABLE[rule].type === 'system');
  return isSystem ? '' : `Largest: ${firstOf(memberLines(all), MAX_NAMED_MEMBERS)}.`;
}

/** Returns one text for each alert, with its figures, such as `acme 345,035 (June 122,435)`. */
export function memberLines(all: readonly Facts[]): string[] {
  const isForecast = areForecast(all);
  return all.map((each) => {
    const rule = RULE_TABLE[each.rule];
    if (rule.type === 'system') return subjectOf(each);
    const figure = isForecast ? `forecast ${forecast(each)}` : grouped(BigInt(each.credits?.current ?? 0n));
    return `${subjectOf(each)} ${figure}${comparedFigureOf(rule, each)}`;
  });
}

function togetherWords(all: readonly Facts[]): string {
  const sum = sumOf(all);
  if (sum === null) return '';
  return areForecast(all)
    ? `, forecast ${signed(roundedForecast(sum))} credits together`
    : `, ${signed(sum)} credits together`;
}

/**
 * Reports whether the message is about alerts that have ended or are no longer sent to the channel. The last message
 * about a settled month is not: it shows the final figures.
 */
function hasEnded(all: readonly Facts[]): boolean {
  return all.some(({ event, closed_because }) => event === 'closed' && closed_because !== 'settled');
}

/** Returns sentences about what changed since the last message. */
function changeSentences(rule: UsageRule, all: readonly Facts[]): string[] {
  if (hasEnded(all)) return [];
  const [first] = all as [Facts];
  const haveSettled = rule.kind.levels?.settled === 'kept' && all.every(({ level }) => level === 'settled');
  return [haveSettled ? settled(first) : '', first.event === 'grown' ? eventWords(first) : ''];
}

/**
 * Sums the changes of all alerts, in credits. Null if the changes cannot be summed: for ended alerts, system alerts and
 * usage over a limit, and if only some of the alerts are forecasts.
 */
export function sumOf(all: readonly Facts[]): bigint | null {
  const [first] = all;
  if (first === undefined || hasEnded(all)) return null;
  const rule = RULE_TABLE[first.rule];
  if (rule.type === 'system' || rule.kind.stake?.of === 'over_limit') return null;
  if (!areForecast(all) && all.some(({ level }) => level === 'likely')) return null;
  return all.reduce(
    (sum, each) => sum + expectedCredits(each, areForecast(all)) - BigInt(each.credits?.previous ?? 0n),
    0n,
  );
}

/** Reports whether all alerts are likely and have forecasts. */
function areForecast(all: readonly Facts[]): boolean {
  return all.every(({ level, evidence }) => level === 'likely' && evidence.projection !== null);
}

function expectedCredits(facts: Facts, isForecast: boolean): bigint {
  return isForecast ? monthCredits(facts) : BigInt(facts.credits?.current ?? 0n);
}

/**
 * Returns the title of a message about alerts of several tenants: `5 of 34 tenants of ws-1 are over their March limit`.
 * If more tenants had the alert before: `5 more tenants ..., 14 of 34 in all`.
 */
function foundOfMany(rule: UsageRule, all: readonly Facts[], { tenants, likely, reached }: TenantCounts): string {
  const [first] = all as [Facts];
  const place = placeOf(first);
  const likelyHere = all.filter(({ level }) => level === 'likely').length;
  const share = likelyHere === 0 ? 'none' : likelyHere === all.length ? 'all' : 'some';
  const found = rule.message.foundForMany(monthOf(first), share);
  const inAll = { none: reached, all: likely, some: likely + reached }[share];
  if (inAll <= all.length) return `${grouped(all.length)} of ${counted(tenants, 'tenant')} of ${place} ${found}`;
  const more = BEGINS.includes(first.event) ? ' more' : '';
  return `${grouped(all.length)}${more} tenants of ${place} ${found}, ${grouped(inAll)} of ${grouped(tenants)} in all`;
}

/** Returns why the alerts ended if the reason is the same for all of them; null otherwise. */
function sharedReason(all: readonly Facts[]): Facts['closed_because'] {
  const because = new Set(all.map(({ closed_because }) => closed_because));
  return because.size === 1 ? (all[0]?.closed_because ?? null) : null;
}

/** Returns the title of a message about ended alerts of several tenants: `March jump of 5 tenants of ws-1 closed`. */
function endOfMany(rule: UsageRule, all: readonly Facts[]): string {
  const [first] = all as [Facts];
  const about = `${monthOf(first)} ${rule.kind.title} of ${counted(all.length, 'tenant')} of ${placeOf(first)}`;
  return `${about} ${sharedReason(all) === 'unrouted' ? 'no longer sent here' : 'closed'}`;
}

function whyOfMany(all: readonly Facts[]): string {
  const [first] = all as [Facts];
  const why = sharedReason(all);
  if (why === 'left_window') return `${monthOf(first)} has left the alert window.`;
  if (why === 'workspace_ended') return 'The workspace is no longer read.';
  if (why === 'unrouted') return 'They are still open.';
  return why === 'gone' ? '' : 'Ended, or no longer sent here.';
}

/** Returns the figure that one alert is compared with. */
function comparedFigureOf(rule: UsageRule, facts: Facts): string {
  if (rule.message.comparison !== undefined) return rule.message.comparison(facts);
  const { credits, period, previous_period } = facts;
  return ` (${period === previous_period ? 'before' : baselineMonth(facts)} ${grouped(credits?.previous ?? 0n)})`;
}
