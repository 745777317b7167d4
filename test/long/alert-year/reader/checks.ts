import { DAY_MS } from '../calendar.ts';
import { boundsOf, daysOf } from '../oracle/seen.ts';
import type { Truth } from './truth.ts';
import { monthOf, nameOf, numberOf, sentence } from './words.ts';

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
  created_at: string;
  summary: string;
  evidence: { projection: { credits: number } | null };
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

/** Whom it names, of which month. */
export function subjectOnly({ said, word, month, atMs }: Read): Complaint[] {
  return [
    same('the name', nameOf(said.who), word.tenant_id ?? word.workspace_id),
    same('the month', monthOf(said.month, atMs), month),
  ];
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

/** How a limit came about: `1.5 x February`, `610 + 1,000, August as a whole month`. */
export function reason({ truth, tenant, month, atMs }: Read, text: string | undefined): Complaint[] {
  if (text === undefined) return [];
  const [sum = '', whole] = text.split(/, (?=\w+(?: \d{4})? as a whole month$)/);
  const times = / x /.test(sum);
  const [a = '', b = ''] = sum.split(times ? ' x ' : ' + ');
  const base = times ? b : a;
  const isNumber = /^\d/.test(base);
  const was = isNumber ? numberOf(base) : truth.credits(tenant, month - 1);
  const limit = times ? Math.ceil(numberOf(a) * was - 1e-9) : was + numberOf(b);
  return [
    isNumber ? null : same('the month of the limit', monthOf(base, atMs), month - 1),
    same('a whole month is named', isNumber, whole !== undefined),
    same('what it makes', limit, truth.limit(tenant, month)),
  ];
}

/** A range of an open month, and how far that is. */
export function foretold(read: Read): Complaint[] {
  const { said, truth, tenant, month, atMs } = read;
  const [low, high] = [numberOf(said.low), numberOf(said.high ?? said.low)];
  const elapsed = (truth.nowMs - boundsOf(month)[0]) / DAY_MS;
  return [
    isSo('the month is open', !truth.isOver(month) && atMs >= truth.nowMs),
    isSo('the range rises', low <= high),
    isSo('no month ends below what it has', low >= truth.credits(tenant, month)),
    ...goesOnAs(read, low, high),
    same('how far it is', said.elapsed, `day ${Math.floor(elapsed) + 1} of ${daysOf(month)}`),
  ];
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

/** More requests, or each costs more: what the increase is made of, and nothing of less than a twentieth. */
export function driver({ truth, tenant, month, said }: Read): Complaint[] {
  const [now, was] = [truth.credits(tenant, month), truth.credits(tenant, month - 1)];
  const [requests, before] = [truth.requests(tenant, month), truth.requests(tenant, month - 1)];
  const volume = ((requests - before) * was) / before;
  const each = now - was - volume;
  const part = (
    name: string,
    text: string | undefined,
    so: number,
    words: readonly [string, string],
    verb: string | undefined,
  ) =>
    text === undefined
      ? [isSo(`${name} is little`, Math.abs(so) < (now - was) / 20 + 1)]
      : [
          near(name, numberOf(text), so, 1.01),
          same(`${name}, in words`, verb, so < 0 ? words[1] : words[0]),
          isSo(`${name} is not little`, Math.abs(so) > (now - was) / 20 - 1),
        ];
  return [
    ...part('what requests add', said.volume, volume, ['more', 'fewer'], said.number),
    ...part('what each adds', said.each, each, ['more', 'less'], said.cost),
  ];
}

export function lostIn(word: Word | undefined): number {
  return numberOf(/ lost (-?[\d,]+) credits/.exec(word?.summary ?? '')?.[1]);
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
