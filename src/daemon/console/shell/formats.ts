import { isoTime } from '../../../core/clock.ts';
import { MONTH_NAMES } from '../../../core/month-names.ts';
import { wallClockMs } from '../../../core/time-zone.ts';
import { formatDecimal } from '../../../reports/formats/columns.ts';

/** Formats a month: `November 2026`. */
export function monthName(period: string): string {
  const [year, month = '1'] = period.split('-');
  return `${MONTH_NAMES[Number(month) - 1] ?? month} ${year}`;
}

/** Formats a day: `28 Nov 2026`. */
export function dayName(iso: string): string {
  const [year, month = '1', day = ''] = iso.slice(0, 10).split('-');
  return `${Number(day)} ${(MONTH_NAMES[Number(month) - 1] ?? month).slice(0, 3)} ${year}`;
}

/** Formats a time to the minute, in a time zone: `28 Nov 2026, 11:40`. */
export function minuteName(iso: string, timezone: string): string {
  const local = isoTime(wallClockMs(Date.parse(iso), timezone));
  return `${dayName(local)}, ${local.slice(11, 16)}`;
}

/** Formats an amount with its currency: `1,234.50 EUR`. */
export function moneyText({ amount, currency }: { amount: string; currency: string }): string {
  return `${formatDecimal(amount)} ${currency}`;
}

/** Formats a difference of amounts: `+1,234.50`. */
export function signedDecimal(amount: string): string {
  return amount.startsWith('-') || !/[1-9]/.test(amount) ? formatDecimal(amount) : `+${formatDecimal(amount)}`;
}

/** Formats a difference of amounts with its currency: `+1,234.50 EUR`. */
export function signedMoney({ amount, currency }: { amount: string; currency: string }): string {
  return `${signedDecimal(amount)} ${currency}`;
}

/** Formats the change from `before` to `now` in percent: `+12%`; null if `before` is 0. */
export function changeText(now: bigint, before: bigint): string | null {
  if (before === 0n) return null;
  const size = before < 0n ? -before : before;
  const percent = Math.round((Number(now - before) / Number(size)) * 100);
  return `${percent > 0 ? '+' : ''}${percent}%`;
}

/** Formats a large number in a few characters: `1.2M`. */
export function compactNumber(value: number): string {
  const units: readonly [number, string][] = [
    [1e18, 'E'],
    [1e15, 'P'],
    [1e12, 'T'],
    [1e9, 'B'],
    [1e6, 'M'],
    [1e3, 'k'],
  ];
  const [size, unit] = units.find(([least]) => Math.abs(value) >= least) ?? [1, ''];
  const scaled = value / size;
  return `${Number(scaled.toFixed(Math.abs(scaled) < 10 && unit !== '' ? 1 : 0))}${unit}`;
}

/** Builds a path with query parameters. Parameters without a value are left out. */
export function linkTo(path: string, parameters: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '');
  const query = new URLSearchParams(given).toString();
  return query === '' ? path : `${path}?${query}`;
}

export function tenantLink(workspaceId: string, tenantId: string): string {
  return `/tenants/${encodeURIComponent(workspaceId)}/${encodeURIComponent(tenantId)}`;
}

export function runLink(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`;
}

export function alertLink(alertId: string): string {
  return `/alerts/${encodeURIComponent(alertId)}`;
}

/** Splits the summary of an alert into its first sentence and the others. */
export function splitSummary(summary: string): [first: string, others: string] {
  const end = summary.search(/(?<=\.) /);
  return end < 0 ? [summary, ''] : [summary.slice(0, end), summary.slice(end + 1)];
}
