import type { NotificationEvent } from '../../core/text/alert-words.ts';
import { counted, firstOf } from '../../core/text/words.ts';
import { causeMessage } from '../rules/message.ts';
import { RULE_TABLE, type UsageRule } from '../rules/rules.ts';
import type { TenantCounts } from '../state/bulk-pending.ts';
import type { Facts } from './facts/facts.ts';
import { grouped, signed } from './facts/names.ts';
import { baselineMonth, monthCredits, monthOf, placeOf, settled, subjectOf } from './facts/phrases.ts';
import { monthWords, readWords } from './sentence.ts';

const NAMED = 5;
/** Events that begin a condition. */
const BEGINS: readonly NotificationEvent[] = ['opened', 'again', 'worse'];

/** Returns the sentence of a group message; the largest members come first. */
export function groupSentence(all: readonly Facts[], ofAll: TenantCounts): string {
  const [first] = all;
  if (first === undefined) return '';
  const rule = RULE_TABLE[first.rule];
  if (rule.type === 'system') {
    const names = firstOf(all.map(placeOf), NAMED);
    const where = counted(all.length, 'workspace');
    const { found, ended, todo } = causeMessage(rule.message, first);
    return first.event === 'closed' ? `${ended(where)} They are ${names}.` : `${found(where)}: ${names}. ${todo}`;
  }
  const figures = all.map((each) => {
    const forecast = areForecast(all) ? 'forecast ' : '';
    return `${subjectOf(each)} ${forecast}${grouped(expectedCredits(each, areForecast(all)))}${besideWhat(rule, each)}`;
  });
  const largest = `Largest: ${firstOf(figures, NAMED)}.`;
  const sum = sumOf(all);
  const together = sum === null ? '' : `, ${areForecast(all) ? 'forecast ' : ''}${signed(sum)} credits together`;
  const main = hasEnded(all) ? endOfMany(rule, all) : `${foundOfMany(rule, all, ofAll)}${together}`;
  const words = [`${main}.`, ...addsOfMany(rule, all), largest, readWords(first), monthWords(first)];
  return words.filter((sentence) => sentence !== '').join(' ');
}

/** Reports whether the members have no cause any more; the last message about settled figures has one. */
function hasEnded(all: readonly Facts[]): boolean {
  return all.some(({ event, closed_because }) => event === 'closed' && closed_because !== 'settled');
}

/** Returns the sentences about changes since the last message. */
function addsOfMany(rule: UsageRule, all: readonly Facts[]): string[] {
  if (hasEnded(all)) return [];
  const [first] = all as [Facts];
  const haveSettled = rule.kind.levels?.settled === 'kept' && all.every(({ level }) => level === 'settled');
  const what = areForecast(all) ? 'The forecasts have' : 'They have';
  const grown = rule.message.grown ?? `${what} grown since the last message.`;
  return [haveSettled ? settled(first) : '', first.event === 'grown' ? grown : ''];
}

/** Sums the differences of all members; null if their figures are of several kinds. */
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

/** Reports whether all members are likely and have a forecast. */
function areForecast(all: readonly Facts[]): boolean {
  return all.every(({ level, evidence }) => level === 'likely' && evidence.projection !== null);
}

function expectedCredits(facts: Facts, isForecast: boolean): bigint {
  return isForecast ? monthCredits(facts) : BigInt(facts.credits?.current ?? 0n);
}

/** `5 of 34 tenants of ws-1 are over their March limit`; where it is so of others, too, `5 more tenants ..., 14 of 34 in all`. */
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

function endOfMany(rule: UsageRule, all: readonly Facts[]): string {
  const [first] = all as [Facts];
  const about = `${rule.kind.title} of ${counted(all.length, 'tenant')} of ${placeOf(first)}`;
  const because = new Set(all.map(({ closed_because }) => closed_because));
  const why = because.size === 1 ? first.closed_because : null;
  if (why === 'left_window') return `Closed: ${monthOf(first)} has left the alert window (${about})`;
  const what = `${monthOf(first)} ${about}`;
  if (why === 'workspace_ended') return `Closed: ${placeOf(first)} is no longer read (${what})`;
  if (why === 'unrouted') return `The ${what} is no longer sent here; it is still open`;
  return why === 'gone' ? `The ${what} is over` : `The ${what} is over or no longer sent here`;
}

/** Returns the figure that one member is compared with. */
function besideWhat(rule: UsageRule, facts: Facts): string {
  if (rule.message.comparison !== undefined) return rule.message.comparison(facts);
  const { credits, period, previous_period } = facts;
  return ` (${period === previous_period ? 'before' : baselineMonth(facts)} ${grouped(credits?.previous ?? 0n)})`;
}
