import type { Word } from './checks.ts';
import { monthName } from './words.ts';

/** Words that were false in messages once, by what was wrong; null where a message has no place for them. */
export const FALSE_WORDS: Readonly<Record<string, (word: Word) => string | null>> = {
  'a month that is looked at': ({ event, summary, period, created_at }) =>
    event !== 'closed' || /has left the alert window|no earlier month/.test(summary) || period === null
      ? null
      : `${summary} ${monthName(period, created_at)} has left the alert window.`,
  'who is new is back': swap(/: new, /, () => ': back, '),
  'credits of another month': swap(
    /: ([\d,]+) credits in (\w+), limit/,
    (_, credits) => `: ${credits} credits in August, limit`,
  ),
  'another workspace': swap(/ \(ws-[^)]*\): /, () => ' (ws-other): '),
  'an end that was none': adds('opened', 'It had ended and holds again.'),
  'growth that was none': adds('opened', 'Grown since the last message.'),
  'what has not happened': adds('opened', 'Corrected: now it is only a forecast again.'),
  'another limit': swap(/, limit ([\d,]+)\./, (_, limit) => `, limit ${limit}0.`),
  'a day later': swap(/ passed by (\d+) /, (_, day) => ` passed by ${Number(day) + 1} `),
  'more than all of it': swap(/, down [\d.]+%/, () => ', down 111%'),
  'a day that nobody saw': swap(/ nothing since (\d+) /, (_, day) => ` nothing since ${Number(day) + 3} `),
  'a longer silence': swap(/no usage for (\d+) days/, (_, days) => `no usage for ${Number(days) + 1} days`),
  'a cause of less than a quarter': swap(
    / (?:More requests|Each request costs more)\./,
    () => ' More requests, and each costs more.',
  ),
  'another cause': swap(/ More requests\./, () => ' Each request costs more.'),
  'another change of the daily usage': swap(/: ([\d,]+) a day, before: /, (_, now) => `: 1${now} a day, before: `),
  'a month that is open': ({ summary, level, period, created_at }) =>
    level === 'settled' || period === null || created_at.slice(0, 7) !== period
      ? null
      : `${summary} ${monthName(period, created_at)} has settled.`,
  'figures of before': swap(/: ([\d,]+) credits in /, (_, used) => `: 1${used} credits in `),
  'a forecast below what is used': swap(/ forecast ([\d,]+) to /i, () => ' forecast 1 to '),
  'a forecast that the JSON does not have': swap(
    / forecast ([\d,]+) to ([\d,]+) credits/,
    (_, low, high) => ` forecast ${low} to ${high}0 credits`,
  ),
  'another loss': swap(/ lost ([\d,]+) credits/, (_, lost) => ` lost 1${lost} credits`),
  'what is listed': swap(
    / no longer listed in (\w+), .*$/,
    (_, month) => ` ${month} withdrawal closed, 0 credits. It is listed again.`,
  ),
  'money that nothing costs': adds('opened', 'The lost credits cost 12.00 EUR.'),
};

/** The same for several alerts at once. */
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
