import { DAY_MS } from '../calendar.ts';
import { boundsOf } from '../oracle/seen.ts';
import type { Truth } from './truth.ts';
import { dayOf, monthOf, nameOf, numberOf, sentence } from './words.ts';

/** What a message says of one alert, as far as a reader asks. */
export interface Word {
  alert_id: string;
  rule: string;
  type: string;
  event: string;
  level: string;
  tenant_id: string | null;
  workspace_id: string | null;
  period: string | null;
  closed_because?: string | null;
  created_at: string;
  title?: string;
  lines?: string[];
  summary: string;
  evidence: { projection: Projection | null };
}

/** A forecast in the JSON of a message. */
export interface Projection {
  credits: number;
  low_credits: number | null;
  high_credits: number | null;
}

/** A sentence with what it is held against. */
export interface Read {
  truth: Truth;
  word: Word;
  /** What the receiver was told of the alert before, the latest last. */
  before: readonly Word[];
  tenant: string | null;
  month: number;
  atMs: number;
  /** The parts of the sentence. */
  said: Readonly<Record<string, string | undefined>>;
}

/** What is wrong with it. */
export type Complaint = string | null;

export interface Sentence {
  pattern: RegExp;
  rules: readonly string[];
  check: (read: Read) => Complaint[];
}

export function of(rules: readonly string[], pattern: string, check: Sentence['check']): Sentence {
  return { rules, pattern: sentence(pattern), check };
}

const MINUTE_MS = 60_000;

/** Whom a title names, and where. */
export function named({ said, word }: Read): Complaint[] {
  return [
    same('the name', nameOf(said.who), word.tenant_id ?? word.workspace_id),
    same(
      'the workspace',
      said.place === undefined ? null : nameOf(said.place),
      word.tenant_id === null ? null : word.workspace_id,
    ),
  ];
}

/** Whom it names, of which month. */
export function subjectOnly(read: Read): Complaint[] {
  return [...named(read), same('the month', monthOf(read.said.month, read.atMs), read.month)];
}

export function used({ said, truth, tenant, month }: Read): Complaint[] {
  return [same('what was used', numberOf(said.n), truth.credits(tenant, month))];
}

export function subject(read: Read): Complaint[] {
  return [...subjectOnly(read), ...used(read)];
}

/** The month that it is compared with. */
export function beside({ said, truth, tenant, month, atMs }: Read): Complaint[] {
  return [
    same('the month before', monthOf(said.base, atMs), month - 1),
    same('what that was', numberOf(said.was), truth.credits(tenant, month - 1)),
  ];
}

export function none({ said, truth, tenant, month, atMs }: Read): Complaint[] {
  return [
    same('the month before', monthOf(said.base, atMs), month - 1),
    same('nothing in it', truth.credits(tenant, month - 1), 0),
  ];
}

/** Who has come to a limit is not over it. */
export function overIt({ said, truth, tenant, month }: Read): Complaint[] {
  const beyond = truth.credits(tenant, month) - numberOf(said.limit);
  return [isSo('it has reached it', beyond >= 0)];
}

/** A forecast of an open month, rounded to three digits. */
export function foretold(read: Read): Complaint[] {
  const { said, truth, tenant, month, atMs, word } = read;
  const [low, high] = [numberOf(said.low), numberOf(said.high ?? said.low)];
  const { projection } = word.evidence;
  const isRange = said.high !== undefined;
  return [
    isSo('the month is open', !truth.isOver(month) && atMs >= truth.nowMs),
    isSo('the range rises', low <= high),
    isSo('no month ends below what it has', low >= truth.credits(tenant, month)),
    ...goesOnAs(read, low, high),
    ...(isRange
      ? [rounded('the low end', low, projection?.low_credits), rounded('the high end', high, projection?.high_credits)]
      : [rounded('the forecast', low, projection?.credits, 0.01)]),
  ];
}

/** Three digits are at most half of a hundredth away. */
export function rounded(what: string, said: number, exact: number | null | undefined, by = 0.005): Complaint {
  return near(what, said, exact ?? Number.NaN, Math.max(0.5, (exact ?? 0) * by));
}

/** The rest of a month goes on at the rate that is so now: from half of what the last days were to three times that. */
function goesOnAs({ truth, tenant, month }: Read, low: number, high: number): Complaint[] {
  const [startMs, endMs] = boundsOf(month);
  const leftDays = (endMs - truth.nowMs) / DAY_MS;
  const days = Array.from({ length: 7 }, (_, day) => truth.nowMs - day * DAY_MS).filter(
    (atMs) => atMs - DAY_MS > startMs,
  );
  const used = days.map((atMs) => truth.creditsAt(tenant, month, atMs) - truth.creditsAt(tenant, month, atMs - DAY_MS));
  if (used.length < 3) return [];
  const now = truth.credits(tenant, month);
  const [least, most] = [Math.min(...used.slice(0, 3)), Math.max(...used)];
  return [
    isSo(`the month comes to ${now + (leftDays * least) / 2} at least`, high >= now + (leftDays * least) / 2),
    isSo(`the month comes to ${now + leftDays * most * 3} at most`, low <= now + leftDays * most * 3 + 1),
  ];
}

/** The causes of a growth: each of them is at least a quarter of it, and what is not named is less. */
export function causes({ truth, tenant, month, word }: Read, said: readonly ('requests' | 'each')[]): Complaint[] {
  const [now, was] = [truth.credits(tenant, month), truth.credits(tenant, month - 1)];
  const [requests, before] = [truth.requests(tenant, month), truth.requests(tenant, month - 1)];
  const comes = word.evidence.projection?.credits ?? now;
  const volume = (((requests * comes) / now - before) * was) / before;
  const part = { requests: volume, each: comes - was - volume };
  return (['requests', 'each'] as const).flatMap((cause) => {
    const share = part[cause] / (comes - was);
    return said.includes(cause)
      ? [isSo(`${cause} is a quarter of the growth`, share > 0.245)]
      : [isSo(`${cause} is less than a quarter of the growth`, share < 0.255)];
  });
}

/** A run that ends just after midnight has read the day before. */
const TOLERANCE_MS = 30 * MINUTE_MS;

/**
 * A lasting change of the daily usage: the credits a day since, until the last day that was read to its end, or with the
 * day that has not ended.
 */
export function changed({ truth, tenant, said, month: of, atMs }: Read): Complaint[] {
  const { month, day } = dayOf(said.day, atMs);
  const sinceMs = boundsOf(month)[0] + (day - 1) * DAY_MS;
  const todayMs = Math.floor((truth.nowMs - TOLERANCE_MS) / DAY_MS) * DAY_MS;
  const untilMs = Math.min(todayMs, boundsOf(of)[1] - DAY_MS);
  const own = truth.seen.tenants.get(tenant ?? '');
  const [now, before] = [numberOf(said.now), numberOf(said.was)];
  const perDay = (toMs: number, days: number): number =>
    own === undefined || days <= 0
      ? Number.NaN
      : (truth.seen.used(own, sinceMs + TOLERANCE_MS, toMs) ?? Number.NaN) / days;
  const complete = (untilMs - sinceMs) / DAY_MS;
  const rates = [perDay(untilMs + TOLERANCE_MS, complete)];
  if (!truth.isOver(of)) rates.push(perDay(truth.nowMs, complete + 1));
  return [
    isSo('the rates differ', now !== before),
    isSo(
      `credits a day since are one of ${rates}`,
      rates.some((rate) => Math.abs(now - rate) <= Math.max(1, rate * 0.02)),
    ),
  ];
}

/** The summary names how many credits were lost. */
export function lostIn(word: Word | undefined): number {
  return numberOf(/ lost (-?[\d,]+) credits /.exec(word?.summary ?? '')?.[1]);
}

export function changeAfter({ truth, tenant, month }: Read) {
  return truth.lastChange(tenant ?? '', month, month + 2);
}

export function truth4Days(read: Read): boolean {
  return read.truth.nowMs - (changeAfter(read)?.atMs ?? 0) < 4 * DAY_MS + MINUTE_MS;
}

export function same<T>(what: string, said: T, so: T): Complaint {
  return said === so ? null : `${what}: ${said}, but it is ${so}`;
}

export function near(what: string, said: number, so: number, by = Math.max(1, Math.abs(so) * 0.02)): Complaint {
  return Math.abs(said - so) <= by ? null : `${what}: ${said}, but it is ${so}`;
}

export function isSo(what: string, so: boolean): Complaint {
  return so ? null : `${what}: it is not so`;
}
