import { minorDigits } from '../../core/money.ts';
import type { Charts, Outline } from './charts.ts';
import type { PageData } from './page-data.ts';
import type { TenantPageData } from './tenant-data.ts';

const OTHERS = 'all others';

/** A drawn chart: its title, the names of the series for the legend, and the SVG markup, which is trusted as HTML. */
export interface Drawing {
  title: string;
  series: readonly string[];
  svg: string;
  /** True if the chart shows the forecast of the month as an outline. */
  hasForecast: boolean;
}

/** The charts of a report. A chart without data is null. */
export interface ReportCharts {
  credits: Drawing | null;
  money: readonly Drawing[];
  pace: Drawing | null;
}

/** Returns the names of the series in the chart of a workspace's credits, in the order of `creditsBySeries`. */
export function seriesOf({ top, others }: Pick<PageData, 'top' | 'others'>): string[] {
  return [...top.map(({ name }, at) => `${at + 1}. ${name}`), ...(hasOthers(others) ? [OTHERS] : [])];
}

/**
 * Returns the credits by month: a list for each of the largest tenants, and one for the sum of all other tenants if
 * they have any credits.
 */
export function creditsBySeries({ top, others }: Pick<PageData, 'top' | 'others'>): bigint[][] {
  return [...top.map(({ credits }) => credits), ...(hasOthers(others) ? [others] : [])];
}

function hasOthers(others: readonly bigint[]): boolean {
  return others.some((credits) => credits !== 0n);
}

export function drawWorkspace(data: PageData, charts: Charts): ReportCharts {
  return {
    credits: data.totals.every((total) => total === 0n) ? null : drawCredits(data, charts),
    money: data.money.map((money) => drawMoney(data, money, charts, outlineOfMoney(data, money))),
    pace: drawPace(data, charts),
  };
}

export function drawTenant(data: TenantPageData, charts: Charts): ReportCharts {
  const { months, credits } = data;
  const rows = months.map((month, at) => ({ month, series: 'credits', value: Number(credits[at] ?? 0n) }));
  const text = { title: 'Credits by month', description: 'Credits of this tenant; the table has the figures.' };
  const svg = charts.stackedBars(rows, { series: ['credits'] }, text);
  return {
    credits: { title: text.title, series: [], svg, hasForecast: false },
    money: data.money.map((money) => drawMoney(data, money, charts, null)),
    pace: drawPace(data, charts),
  };
}

function drawCredits(data: PageData, charts: Charts): Drawing {
  const { months, totals, forecast } = data;
  const series = seriesOf(data);
  const values = creditsBySeries(data);
  const rows = months.flatMap((month, at) =>
    series.map((name, index) => ({ month, series: name, value: Number(values[index]?.[at] ?? 0n) })),
  );
  const text = { title: 'Credits by month', description: 'Stacked by the largest tenants; the table has the figures.' };
  const outline = outlineOf(months, Number(totals.at(-1) ?? 0n), forecast === null ? null : Number(forecast.credits));
  const svg = charts.stackedBars(rows, { series, forecast: outline }, text);
  return { title: text.title, series, svg, hasForecast: outline !== null };
}

function drawMoney(
  { months }: Pick<PageData, 'months'>,
  { currency, amounts }: PageData['money'][number],
  charts: Charts,
  outline: Outline | null,
): Drawing {
  const unit = 10 ** minorDigits(currency);
  const rows = months.map((month, at) => ({ month, series: currency, value: Number(amounts[at] ?? 0n) / unit }));
  const text = { title: `${currency} by month`, description: 'Charges and corrections; the table has the figures.' };
  const svg = charts.stackedBars(rows, { series: [currency], forecast: outline }, text);
  return { title: text.title, series: [], svg, hasForecast: outline !== null };
}

function drawPace({ days, period }: Pick<PageData, 'days' | 'period'>, charts: Charts): Drawing | null {
  if (days.filter(({ current }) => current !== null).length < 2) return null;
  const hasBefore = days.some(({ previous }) => previous !== null);
  const series = hasBefore ? [period, 'previous month'] : [period];
  const rows = days.flatMap(({ day, current, previous }) => [
    ...(current === null ? [] : [{ day, series: period, value: Number(current) }]),
    ...(previous === null ? [] : [{ day, series: 'previous month', value: Number(previous) }]),
  ]);
  const text = {
    title: 'Credits by day',
    description: 'This month and the previous month, as read at the end of each day.',
  };
  return { title: text.title, series, svg: charts.lines(rows, series, text), hasForecast: false };
}

/**
 * Returns the outline that shows a forecast above the latest month's bar. Returns null if there is no forecast or if it
 * does not exceed the current value.
 */
function outlineOf(months: readonly string[], from: number, to: number | null): Outline | null {
  const month = months.at(-1);
  return month === undefined || to === null || to <= from || from < 0 ? null : { month, from, to };
}

function outlineOfMoney(
  { months, forecast }: PageData,
  { currency, amounts }: PageData['money'][number],
): Outline | null {
  const unit = 10 ** minorDigits(currency);
  const to = forecast?.money.find((money) => money.currency === currency)?.amountMinor;
  return outlineOf(months, Number(amounts.at(-1) ?? 0n) / unit, to === undefined ? null : Number(to) / unit);
}
