import type { RuleName } from '../../rules/rule.ts';
import type { SelfRule } from '../../rules/table.ts';
import type { FormerTenant } from '../evidence.ts';
import { percentOf } from '../percent.ts';
import {
  baselineMonths,
  baselineWords,
  day,
  type Facts,
  forecast,
  limitReason,
  monthOf,
  subjectOf,
} from './facts-told.ts';
import { dayName, daysOf, grouped, listed, named, signed } from './names.ts';

type UsageRule = Exclude<RuleName, SelfRule | 'incident'>;

/** What a rule found, in the order in which it is asked: what, to whom, how much beside what, how sure, since when. */
export const FOUND: Record<UsageRule, (facts: Facts) => string[]> = {
  jump,
  workspace_jump: jump,
  drop(facts) {
    const { evidence, level, credits, threshold } = facts;
    const [who, month, used] = heads(facts);
    if (level === 'likely') {
      const days = evidence.detail ?? 'for days';
      return [`${who} has used nothing ${days}: ${used} credits in ${month}; ${baselineWords(facts)}.`];
    }
    const less = credits?.change_percent == null ? '' : `${grouped(-credits.change_percent)}% less: `;
    return [
      `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
      `That is ${less}up to ${grouped(threshold ?? 0n)} counts as a fall.`,
      settled(facts),
    ];
  },
  new_spend(facts) {
    const [who, month, used] = heads(facts);
    const { former_tenant: former = null } = facts.evidence;
    if (former !== null) {
      const [id, day, before, now] = formerWords(former, facts);
      return [
        `${who} is probably the new id of ${id}, which used ${before} credits a day and has used nothing since ${day}.`,
        `${who} has used ${now} a day since it began: ${used} credits in ${month}, none in ${baselineMonths(facts)}.`,
        ...[goesOn(facts), plan(facts)],
      ];
    }
    return [
      `${who} is new: ${used} credits in ${month}, none in ${baselineMonths(facts)}.`,
      // What was told as likely was a new id.
      facts.event === 'worse' ? 'It is not the new id of another tenant: that one uses credits again.' : '',
      `That is over the limit of ${grouped(facts.threshold ?? 0n)} for new tenants.`,
      goesOn(facts),
      plan(facts),
    ];
  },
  trend(facts) {
    const [who, month, used] = heads(facts);
    const since = `from ${grouped(facts.credits?.previous ?? 0n)} in ${baselineMonths(facts)}`;
    return [`${who} grew month by month, without a jump: ${used} credits in ${month}, ${since}.`];
  },
  budget,
  regression(facts) {
    const [who, month, used] = heads(facts);
    const { previous = 0n, current = 0n } = facts.credits ?? {};
    return [
      `${who} lost ${grouped(previous - current)} credits of ${month}: ${used} now, ${grouped(previous)} without the loss.`,
      `${month} is still open.`,
    ];
  },
  restatement(facts) {
    const [who, month, used] = heads(facts);
    const { previous = 0n, current = 0n } = facts.credits ?? {};
    const before = facts.level === 'settled' ? 'when it was closed' : 'when it had settled';
    const state =
      facts.level === 'settled'
        ? `${month} is closed: the difference is booked as an adjustment.`
        : `${month} is not closed.`;
    return [
      `${month} of ${who} changed: ${used} credits now, ${grouped(previous)} ${before} (${signed(current - previous)}).`,
      state,
    ];
  },
  withdrawn(facts) {
    const [who, month] = heads(facts);
    return [`${who} is no longer listed in ${month}; it had ${grouped(facts.credits?.previous ?? 0n)} credits.`];
  },
};

function heads(facts: Facts): [who: string, month: string, used: string] {
  return [subjectOf(facts), monthOf(facts), grouped(facts.credits?.current ?? 0n)];
}

function jump(facts: Facts): string[] {
  const [who, month, used] = heads(facts);
  const limit = grouped(facts.threshold ?? 0n);
  const basis = facts.evidence.detail === null ? '' : `It is ${facts.evidence.detail}.`;
  if (facts.level === 'likely') {
    return [
      `${who} will probably pass its ${month} limit: forecast ${forecast(facts)}, limit ${limit}${day(facts)}.`,
      `So far it used ${used} credits; ${baselineWords(facts)}${limitReason(facts).replace('(', '(the limit is ')}.`,
      ...[basis, plan(facts)],
    ];
  }
  return [
    `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
    `That is over the limit of ${limit}${limitReason(facts)}${reached(facts)}.`,
    ...[settled(facts), goesOn(facts), driver(facts), basis, plan(facts)],
  ];
}

function budget(facts: Facts): string[] {
  const [who, month, used] = heads(facts);
  const { evidence, threshold, credits, period, created_at } = facts;
  const limit = threshold ?? 0n;
  const current = credits?.current ?? 0n;
  const { projection } = evidence;
  const percent = grouped(percentOf(current, limit) ?? 0);
  if (current < limit && projection !== null && period !== null && projection.credits >= limit) {
    const left = Number(limit - current) / Number(projection.credits - current);
    const passed = Number(projection.elapsed_fraction);
    const days = daysOf(period);
    const usedUp = Math.min(days, Math.floor((passed + (1 - passed) * left) * days) + 1);
    return [
      `${who} will probably pass its ${month} budget: forecast ${forecast(facts)}, budget ${grouped(limit)}${day(facts)}.`,
      `So far it used ${used} credits${evidence.detail === null ? `, ${percent}% of it` : ` ${evidence.detail}`}; it is used up about ${dayName(period, usedUp, created_at)}.`,
    ];
  }
  if (evidence.detail !== null) return [`${who} used ${used} credits in ${month} ${evidence.detail}.`, goesOn(facts)];
  const over = current > limit ? `, ${grouped(current - limit)} over it` : '';
  return [
    `${who} used ${used} credits in ${month}: ${percent}% of its budget of ${grouped(limit)}${over}.`,
    goesOn(facts),
  ];
}

function formerWords(
  { tenant_id, last_day, daily_credits, new_daily_credits }: FormerTenant,
  { created_at }: Facts,
): [id: string, day: string, before: string, now: string] {
  const day = dayName(last_day.slice(0, 7), Number(last_day.slice(8)), created_at);
  return [named(tenant_id), day, grouped(daily_credits), grouped(new_daily_credits)];
}

/** The first day by whose end a limit was passed. */
function reached({ evidence, threshold, period, created_at }: Facts): string {
  const days = evidence.course?.days.current ?? [];
  const at = threshold === null ? -1 : days.findIndex((credits) => credits !== null && credits >= threshold);
  if (at < 0 || period === null) return '';
  const wasSeen = at === 0 || days[at - 1] != null;
  return `, reached ${wasSeen ? 'on' : 'by'} ${dayName(period, at + 1, created_at)}`;
}

function settled(facts: Facts): string {
  return facts.level === 'settled' ? `${monthOf(facts)} has settled.` : '';
}

/** An open month only grows. */
function goesOn(facts: Facts): string {
  const { projection } = facts.evidence;
  if (projection === null || projection.credits <= (facts.credits?.current ?? 0n)) return '';
  return `Forecast for ${monthOf(facts)}: ${forecast(facts)}${day(facts)}.`;
}

/** Whether there are more requests, or each costs more. */
function driver({ evidence, reason, requests }: Facts): string {
  const { split } = evidence;
  if (split === null || reason === null) return '';
  const [volume, each] = [BigInt(split.volume_credits), BigInt(split.intensity_credits)];
  const number = `${volume < 0n ? 'fewer' : 'more'} requests (${signed(volume)} credits)`;
  const cost = `each request costs ${each < 0n ? 'less' : 'more'} (${signed(each)} credits)`;
  if (volume === 0n || requests?.change === 0n)
    return `Each request costs ${each < 0n ? 'less' : 'more'} (${signed(each)} credits); the number of requests is unchanged.`;
  if (each === 0n) return `There are ${number}; what each costs is unchanged.`;
  return `There are ${number}, and ${cost}.`;
}

/** Somebody had planned for growth, and it has grown beyond that. */
function plan({ evidence }: Facts): string {
  const { planned_credits = null, planned_bounds = planned_credits === null ? [] : [planned_credits] } = evidence;
  return planned_bounds.length === 0 ? '' : `Planned was growth up to ${listed(planned_bounds.map(grouped))}.`;
}
