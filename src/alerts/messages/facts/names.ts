import { DAY_MS } from '../../../core/durations.ts';
import { type Period, periodEndMs, periodStartMs } from '../../../core/period.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { withThousands } from '../../../core/text/words.ts';
import { localDay } from '../../../core/time-zone.ts';
import type { Facts } from './facts.ts';

const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
] as const;
/** A month without its year is the latest of its name. */
const MONTHS_BY_NAME = 11;
/** Longer names are cut in a sentence; the payload's own fields carry them in full. */
const NAME_CHARACTERS = 80;

/** With at most one decimal. */
export function grouped(value: bigint | number): string {
  const rounded = typeof value === 'bigint' ? value : Math.round(value * 10) / 10;
  return String(rounded).replace(/^-?\d+/, withThousands);
}

/** To two digits. */
export function roundedUp(credits: bigint): bigint {
  const step = 10n ** BigInt(Math.max(0, String(credits).length - 2));
  return ((credits + step - 1n) / step) * step;
}

const FORECAST_DIGITS = 3;

/** Rounds a forecast to the three digits that it is worth. */
export function roundedForecast(credits: bigint): bigint {
  if (credits < 0n) return -roundedForecast(-credits);
  const step = 10n ** BigInt(Math.max(0, String(credits).length - FORECAST_DIGITS));
  return ((credits + step / 2n) / step) * step;
}

const WHOLE_FROM = 10;

/** Formats the price of a forecast: `about 1,230 EUR`. From ten on it has no decimals. */
export function aboutAmount({ amount, currency }: { amount: string; currency: string }): string {
  if (Number(amount) < WHOLE_FROM) return `about ${amountWords({ amount, currency })}`;
  const [whole = '', part = ''] = amount.split('.');
  const rounds = whole.length <= FORECAST_DIGITS && /^[5-9]/.test(part);
  return `about ${grouped(roundedForecast(BigInt(whole) + (rounds ? 1n : 0n)))} ${currency}`;
}

/** `1,234.50 EUR`, of a plain decimal. */
export function amountWords({ amount, currency }: { amount: string; currency: string }): string {
  const [whole = '', part] = amount.split('.');
  const integer = grouped(BigInt(whole));
  return `${part === undefined ? integer : `${integer}.${part}`} ${currency}`;
}

export function signed(value: bigint | number): string {
  return value > 0 ? `+${grouped(value)}` : grouped(value);
}

/** Formats an id for a sentence, in quotes if it could be mistaken for another word. */
export function named(id: string): string {
  const name = shortened(id);
  return /^[\p{L}\p{N}](?:[\p{L}\p{N}_+@-]|\.(?=\d))*$/u.test(name) ? name : `"${name.replaceAll('"', '\\"')}"`;
}

export function shortened(name: string): string {
  const characters = Array.from(name);
  const shown = characters.length > NAME_CHARACTERS ? `${characters.slice(0, NAME_CHARACTERS).join('')}…` : name;
  return inertText(shown);
}

/** Returns `March`, or `March 2025` if another March is closer to `at`. */
export function monthName(period: string, at: string): string {
  const [year = 0, month = 1] = period.split('-').map(Number);
  const [nowYear = 0, nowMonth = 1] = at.slice(0, 7).split('-').map(Number);
  const age = (nowYear - year) * 12 + nowMonth - month;
  const name = MONTHS[month - 1] ?? period;
  return age >= 0 && age <= MONTHS_BY_NAME ? name : `${name} ${year}`;
}

/** `17 March`, of the day with this number in a month. */
export function dayName(period: string, day: number, at: string): string {
  return `${day} ${monthName(period, at)}`;
}

/** The same of a day or a moment in ISO-8601. */
export function dateName(date: string, at: string): string {
  return dayName(date.slice(0, 7), Number(date.slice(8, 10)), at);
}

/** The day of a moment on the calendar of the channel. */
export function momentName(at: string, { created_at, time_zone }: Pick<Facts, 'created_at' | 'time_zone'>): string {
  return dateName(localDay(at, time_zone), localDay(created_at, time_zone));
}

export function daysOf(period: Period): number {
  return Math.round((periodEndMs(period) - periodStartMs(period)) / DAY_MS);
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
