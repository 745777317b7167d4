import { DAY_MS } from '../../../core/durations.ts';
import { MONTH_NAMES } from '../../../core/month-names.ts';
import { type Period, periodEndMs, periodStartMs } from '../../../core/period.ts';
import { inertText } from '../../../core/text/inert-text.ts';
import { withThousands } from '../../../core/text/words.ts';
import { localDay } from '../../../core/time-zone.ts';
import type { Facts } from './facts.ts';

/** A month up to this many months ago is named without its year. */
const MONTHS_BY_NAME = 11;
/** Names with more characters are shortened in sentences. The payload has the full name. */
const NAME_CHARACTERS = 80;

/** Formats a number with thousands separators and at most one decimal. */
export function grouped(value: bigint | number): string {
  const rounded = typeof value === 'bigint' ? value : Math.round(value * 10) / 10;
  return String(rounded).replace(/^-?\d+/, withThousands);
}

/** Rounds credits upwards, to two significant digits. */
export function roundedUp(credits: bigint): bigint {
  const step = 10n ** BigInt(Math.max(0, String(credits).length - 2));
  return ((credits + step - 1n) / step) * step;
}

const FORECAST_DIGITS = 3;

/** Rounds a forecast to three significant digits, because forecasts are not more exact than that. */
export function roundedForecast(credits: bigint): bigint {
  if (credits < 0n) return -roundedForecast(-credits);
  const step = 10n ** BigInt(Math.max(0, String(credits).length - FORECAST_DIGITS));
  return ((credits + step / 2n) / step) * step;
}

const WHOLE_FROM = 10;

/** Formats the price of a forecast: `about 1,230 EUR`. Amounts of ten or more have no decimals. */
export function aboutAmount({ amount, currency }: { amount: string; currency: string }): string {
  if (Number(amount) < WHOLE_FROM) return `about ${amountWords({ amount, currency })}`;
  const [whole = '', part = ''] = amount.split('.');
  const rounds = whole.length <= FORECAST_DIGITS && /^[5-9]/.test(part);
  return `about ${grouped(roundedForecast(BigInt(whole) + (rounds ? 1n : 0n)))} ${currency}`;
}

/** Formats a plain decimal as `1,234.50 EUR`. */
export function amountWords({ amount, currency }: { amount: string; currency: string }): string {
  const [whole = '', part] = amount.split('.');
  const integer = grouped(BigInt(whole));
  return `${part === undefined ? integer : `${integer}.${part}`} ${currency}`;
}

export function signed(value: bigint | number): string {
  return value > 0 ? `+${grouped(value)}` : grouped(value);
}

/** Formats an id for a sentence. An id that could be mistaken for ordinary words is put in quotes. */
export function named(id: string): string {
  const name = shortened(id);
  return /^[\p{L}\p{N}](?:[\p{L}\p{N}_+@-]|\.(?=\d))*$/u.test(name) ? name : `"${name.replaceAll('"', '\\"')}"`;
}

export function shortened(name: string): string {
  const characters = Array.from(name);
  const shown = characters.length > NAME_CHARACTERS ? `${characters.slice(0, NAME_CHARACTERS).join('')}…` : name;
  return inertText(shown);
}

/**
 * Returns the name of a month, such as `March`. The year is added (`March 2025`) unless the month is one of the twelve
 * up to `at`.
 */
export function monthName(period: string, at: string): string {
  const [year = 0, month = 1] = period.split('-').map(Number);
  const [nowYear = 0, nowMonth = 1] = at.slice(0, 7).split('-').map(Number);
  const age = (nowYear - year) * 12 + nowMonth - month;
  const name = MONTH_NAMES[month - 1] ?? period;
  return age >= 0 && age <= MONTHS_BY_NAME ? name : `${name} ${year}`;
}

/** Formats a day of a month by its number: `17 March`. */
export function dayName(period: string, day: number, at: string): string {
  return `${day} ${monthName(period, at)}`;
}

/** Formats the day of an ISO-8601 date or time, such as `17 March`. */
export function dateName(date: string, at: string): string {
  return dayName(date.slice(0, 7), Number(date.slice(8, 10)), at);
}

/** Formats the day of a moment in the channel's time zone. */
export function momentName(at: string, { created_at, time_zone }: Pick<Facts, 'created_at' | 'time_zone'>): string {
  return dateName(localDay(at, time_zone), localDay(created_at, time_zone));
}

export function daysOf(period: Period): number {
  return Math.round((periodEndMs(period) - periodStartMs(period)) / DAY_MS);
}

/** Joins words: `a`, `a and b`, `a, b and c`. */
export function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}
