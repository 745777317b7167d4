import { periodFromIndex, periodIndex } from '../../../../src/core/period.ts';

const NAMES = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
const MONTH = `(?:${NAMES.join('|')})(?: \\d{4})?`;

/** The parts of sentences, in patterns: `{used:n}` is a number, `{m}` a month, `{d}` a day, `{who}` a name. */
const PARTS: Readonly<Record<string, string>> = {
  n: '-?\\d[\\d,]*(?:\\.\\d+)?',
  s: '[+-]?\\d[\\d,]*',
  m: MONTH,
  d: `\\d{1,2} ${MONTH}`,
  who: '"(?:\\\\.|[^"\\\\])*"|[^\\s"(),;:]+',
  back: 'back',
  forecast: 'forecast',
  difference: 'The difference has grown',
  text: '.*?',
};

/** A pattern of a sentence, as an expression that is asked from a place in the text on; a name stands once in it. */
export function sentence(pattern: string): RegExp {
  const parts = pattern.split(/(\{\w+(?::\w+)?\})/).map((part) => {
    const named = /^\{(\w+)(?::(\w+))?\}$/.exec(part);
    if (named === null) return part;
    const [, name = '', kind = name] = named;
    return `(?<${name}>${PARTS[kind] ?? PARTS.text})`;
  });
  return new RegExp(parts.join(''), 'y');
}

export function numberOf(text: string | undefined): number {
  return Number((text ?? '').replaceAll(',', ''));
}

/** The month of a name, as somebody reads it at a moment: without a year the latest of its name. */
export function monthOf(text: string | undefined, atMs: number): number {
  const [name = '', year] = (text ?? '').split(' ');
  const place = NAMES.indexOf(name);
  const now = periodIndex(new Date(atMs).toISOString().slice(0, 7));
  for (let month = now; month > now - 240; month -= 1) {
    const [ownYear, own] = periodFromIndex(month).split('-').map(Number);
    if (own === place + 1 && (year === undefined || Number(year) === ownYear)) return month;
  }
  return Number.NaN;
}

/** The name of a month, with its year where another one is nearer. */
export function monthName(period: string, at: string): string {
  const [year, month] = period.split('-').map(Number);
  const name = NAMES[(month ?? 1) - 1] ?? '';
  return periodIndex(at.slice(0, 7)) - periodIndex(period) < 12 ? name : `${name} ${year}`;
}

/** A day of a month, by its number. */
export function dayOf(text: string | undefined, atMs: number): { month: number; day: number } {
  const [day = '', ...month] = (text ?? '').split(' ');
  return { month: monthOf(month.join(' '), atMs), day: Number(day) };
}

/** An id as it stands in a sentence. */
export function nameOf(text: string | undefined): string {
  return text?.startsWith('"') === true ? text.slice(1, -1).replaceAll('\\"', '"') : (text ?? '');
}
