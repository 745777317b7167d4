import type { Word } from './checks.ts';
import { monthName } from './words.ts';

/** Sentences that messages have had once and that were not so, by what was wrong; null where a message has no place for it. */
export const FALSE_WORDS: Readonly<Record<string, (word: Word) => string | null>> = {
  'a correction that nobody made': swap(
    / is under its (\w+) limit of ([\d,]+).*$/,
    (_, month, limit) => ` is under its ${month} limit of ${limit} again: it was corrected to 1 credits.`,
  ),
  'a month that is looked at': ({ event, summary, tenant_id, period, created_at }) =>
    event !== 'closed' || /no longer|left the alert window/.test(summary) || period === null
      ? null
      : `ws-year: Closed: ${monthName(period, created_at)} has left the alert window (jump of ${tenant_id}).`,
  'who is new is back': swap(/ is new: /, () => ' is back after its last credits in October 2025: '),
  'credits that are used in a month that is over': swap(
    / uses credits again; it ha[sd] ([\d,]+) credits in (\w+)\./,
    (_, credits, month) => ` uses credits again: ${credits} in ${month}.`,
  ),
  'an end that was none': adds('opened', 'It had ended and holds again.'),
  'growth that was none': adds('opened', 'It has grown since the last message.'),
  'what has not happened': adds('opened', 'Correction: by the current figures and limit it has not happened.'),
  'a month that is told as it was': swap(
    / \(([\d,]+) \+ ([\d,]+), (\w+) as a whole month\)/,
    (_, _base, more, month) => ` (${month} + ${more})`,
  ),
  'another limit': swap(/ (limit of|Limit:) ([\d,]+)/, (_, words, limit) => ` ${words} ${limit}0`),
  'a day later': swap(/ passed by (\d+) /, (_, day) => ` passed by ${Number(day) + 1} `),
  'a day of the month later': swap(/\(day (\d+) of/, (_, day) => `(day ${Number(day) + 1} of`),
  'more than all of it': swap(/Down [\d.]+%/, () => 'Down 111%'),
  'a day that nobody saw': swap(/ nothing since (\d+) /, (_, day) => ` nothing since ${Number(day) + 3} `),
  'a longer silence': swap(/ nothing for (\d+) days/, (_, days) => ` nothing for ${Number(days) + 1} days`),
  'a reason of next to nothing': swap(
    /Cause: (more|fewer) requests \((\S+) credits\)\./,
    (_, number, credits) => `Cause: ${number} requests (${credits} credits), and each request costs less (-1 credits).`,
  ),
  'a month that is open': ({ summary, level, period, created_at }) =>
    level === 'settled' || period === null || created_at.slice(0, 7) !== period
      ? null
      : `${summary} ${monthName(period, created_at)} has settled.`,
  'figures of before': swap(/ used ([\d,]+) credits/, (_, used) => ` used 1${used} credits`),
  'a forecast below what is used': swap(/ forecast ([\d,]+) to /i, () => ' forecast 1 to '),
  'another loss': swap(/ lost ([\d,]+) credits/, (_, lost) => ` lost 1${lost} credits`),
  'what is listed': swap(
    / is no longer listed in (\w+); .*$/,
    (_, month) => ` is listed again in ${month}, with 0 credits.`,
  ),
  'money that nothing costs': adds('opened', 'The lost credits cost 12.00 EUR by the end of January.'),
};

/** The same of several at once. */
export const FALSE_COUNTS: Readonly<Record<string, (summary: string) => string | null>> = {
  'those of this message as all of them': (summary) =>
    /^(\d+) more tenants of (\S+) (.*), [\d,]+ of ([\d,]+) in all/.test(summary)
      ? summary.replace(/^(\d+) more tenants of (\S+) (.*), [\d,]+ of ([\d,]+) in all/, '$1 of $4 tenants of $2 $3')
      : null,
  'fewer tenants': (summary) =>
    / of [\d,]+ tenants/.test(summary) ? summary.replace(/ of [\d,]+ tenants/, ' of 5 tenants') : null,
  'another figure of the largest': (summary) =>
    / [\d,]+ \(/.test(summary) ? summary.replace(/ ([\d,]+) \(/, ' 1$1 (') : null,
  'another month before': (summary) =>
    / \((?!before)\w+ [\d,]+\)/.test(summary) ? summary.replace(/ \((?!before)(\w+) ([\d,]+)\)/, ' ($1 1$2)') : null,
  'another sum': (summary) =>
    / [+-][\d,]+ credits together/.test(summary)
      ? summary.replace(/ ([+-])([\d,]+) credits together/, ' $11$2 credits together')
      : null,
};

function swap(pattern: RegExp, by: (all: string, ...parts: string[]) => string): (word: Word) => string | null {
  return ({ summary }) => (pattern.test(summary) ? summary.replace(pattern, by) : null);
}

function adds(event: string, sentence: string): (word: Word) => string | null {
  return (word) => (word.event === event && word.period !== null ? `${word.summary} ${sentence}` : null);
}
