import { formatMinor, minorDigits } from '../../core/money.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { counted } from '../../core/text/words.ts';
import { formatLocalTime, localDay } from '../../core/time-zone.ts';
import type { MonthForecast } from '../../ledger/journal/charges/credit-pricer.ts';
import { formatDecimal, formatInteger, formatSigned } from '../formats/columns.ts';
import { type Charts, type Outline, sparkline } from './charts.ts';
import type { PageData } from './page-data.ts';
import {
  chartBox,
  figureCell,
  foldedFigures,
  legend,
  originHtml,
  type PageAlerts,
  type PageCell,
  type PageLinks,
  pageOf,
  section,
  tableHtml,
  tenantCell,
} from './page-parts.ts';

const OTHERS = 'all others';

/**
 * Builds the page of a workspace as one file, with a table for each chart. The output depends on the input only.
 * `links` are the addresses of tenant pages, if there are any.
 */
export function pageHtml(data: PageData, charts: Charts, links: PageLinks | null = null): string {
  const sections = [
    workspaceFacts(data),
    alertsSection(data),
    workspaceCreditsSection(data, charts),
    ...data.money.map((money) => moneySection(data, money, charts, outlineOfMoney(data, money))),
    paceSection(data, charts),
    budgetSection(data),
    marginSection(data),
    moversSection(data, links),
    tenantsSection(data, links),
    adjustmentsSection(data),
    originHtml(data.origin),
  ];
  return pageOf(`Usage of ${data.workspaceName}, ${data.period}`, sections.filter((part) => part !== '').join('\n'));
}

function workspaceFacts(data: PageData): string {
  const { workspaceId, state, timezone, asOf, complete, totals, tenantCounts, forecast } = data;
  const readAt = asOf === null ? 'never' : formatLocalTime(asOf, timezone);
  const proof = complete ? 'verified as complete after its end' : 'not read since its end';
  const ended = state === 'open' ? 'The month is not over.' : `The month is ${htmlText(state)}, ${proof}.`;
  const money = data.money
    .filter(({ amounts }) => (amounts.at(-1) ?? 0n) !== 0n)
    .map(({ currency, amounts }) => ({ currency, amountMinor: amounts.at(-1) ?? 0n }));
  const count = tenantCounts.at(-1) ?? 0;
  const all = formatAmounts({ credits: totals.at(-1) ?? 0n, money });
  const forecastText =
    forecast === null || forecast.credits === 0n
      ? ''
      : ` Forecast for the month: <strong>${formatAmounts(forecast)}</strong>.`;
  const tenantsText = `for ${counted(count, 'tenant')}`;
  return `<p class="lead"><strong>${state === 'open' ? `Month to date: ${all}` : all}</strong> ${tenantsText}${comparisonWords(data)}. ${ended}${forecastText}</p>
<p class="quiet">Workspace ${htmlText(workspaceId)}, as of ${htmlText(readAt)}</p>`;
}

function formatAmounts({ credits, money }: MonthForecast): string {
  const amounts = money.map(
    ({ currency, amountMinor }) => `${formatDecimal(formatMinor(amountMinor, currency))} ${currency}`,
  );
  return [`${formatInteger(credits)} credits`, ...amounts].join(' and ');
}

/** Formats the comparison with the previous month: at the same day for an open month, with all of it otherwise. */
function comparisonWords({ state, days, months, totals }: PageData): string {
  const today = days.findLast(({ current }) => current !== null);
  const isOpen = state === 'open';
  const now = isOpen ? today?.current : totals.at(-1);
  const before = isOpen ? today?.previous : totals.at(-2);
  if (now == null || before == null || before <= 0n) return '';
  const percent = (100n * (now - before)) / before;
  const change =
    percent === 0n
      ? 'about as many as'
      : `${percent < 0n ? -percent : percent}% ${percent < 0n ? 'fewer' : 'more'} than`;
  const when = `${isOpen ? 'on the same day of' : 'in'} ${htmlText(months.at(-2) ?? 'the previous month')}`;
  return `, ${change} ${when} (${formatInteger(before)})`;
}

function workspaceCreditsSection({ months, top, others, totals, forecast }: PageData, charts: Charts): string {
  if (totals.every((total) => total === 0n)) return section('Credits by month', '<p>No usage.</p>');
  const hasOthers = others.some((credits) => credits !== 0n);
  const series = [...top.map(({ name }, at) => `${at + 1}. ${name}`), ...(hasOthers ? [OTHERS] : [])];
  const values = [...top.map(({ credits }) => credits), ...(hasOthers ? [others] : [])];
  const rows = months.flatMap((month, at) =>
    series.map((name, index) => ({ month, series: name, value: Number(values[index]?.[at] ?? 0n) })),
  );
  const text = { title: 'Credits by month', description: 'Stacked by the largest tenants; the table has the figures.' };
  const outline = outlineOf(months, Number(totals.at(-1) ?? 0n), forecast === null ? null : Number(forecast.credits));
  const table = tableHtml(
    ['Month', ...series, 'Total'],
    months.map((month, at) => [month, ...values.map((row) => row[at] ?? 0n), totals[at] ?? 0n]),
  );
  return section(
    'Credits by month',
    `${legend(series)}${outlineWords(outline)}${chartBox(text.title, charts.stackedBars(rows, { series, forecast: outline }, text), { ofMonths: true })}${foldedFigures(table)}`,
  );
}

/** Returns the outline of a forecast, or null if the forecast does not exceed the current value. */
function outlineOf(months: readonly string[], from: number, to: number | null): Outline | null {
  const month = months.at(-1);
  return month === undefined || to === null || to <= from || from < 0 ? null : { month, from, to };
}

function outlineWords(outline: Outline | null): string {
  return outline === null ? '' : '<p class="quiet">Outline: the forecast for the month.</p>\n';
}

function outlineOfMoney(
  { months, forecast }: PageData,
  { currency, amounts }: PageData['money'][number],
): Outline | null {
  const unit = 10 ** minorDigits(currency);
  const to = forecast?.money.find((money) => money.currency === currency)?.amountMinor;
  return outlineOf(months, Number(amounts.at(-1) ?? 0n) / unit, to === undefined ? null : Number(to) / unit);
}

export function moneySection(
  { months }: Pick<PageData, 'months'>,
  { currency, amounts }: PageData['money'][number],
  charts: Charts,
  outline: Outline | null = null,
): string {
  const unit = 10 ** minorDigits(currency);
  const rows = months.map((month, at) => ({ month, series: currency, value: Number(amounts[at] ?? 0n) / unit }));
  const text = { title: `${currency} by month`, description: 'Charges and corrections; the table has the figures.' };
  const table = tableHtml(
    ['Month', currency],
    months.map((month, at) => [month, figureCell(formatDecimal(formatMinor(amounts[at] ?? 0n, currency)))]),
  );
  return section(
    `${currency} by month`,
    `${outlineWords(outline)}${chartBox(text.title, charts.stackedBars(rows, { series: [currency], forecast: outline }, text), { ofMonths: true })}${foldedFigures(table)}`,
  );
}

export function paceSection({ days, period }: Pick<PageData, 'days' | 'period'>, charts: Charts): string {
  if (days.filter(({ current }) => current !== null).length < 2) return '';
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
  const table = tableHtml(
    ['Day', ...series],
    days.map(({ day, current, previous }) => [String(day), current, ...(hasBefore ? [previous] : [])]),
  );
  return section(
    'Credits to date',
    `${legend(series)}${chartBox(text.title, charts.lines(rows, series, text))}${foldedFigures(table)}`,
  );
}

/** Returns an empty text without budgets. */
function budgetSection({ budgets }: PageData): string {
  if (budgets.length === 0) return '';
  const rows = budgets.map(({ name, credits, used }): PageCell[] => {
    const percent = (used * 100n) / credits;
    const meter = `<meter max="100" value="${percent > 100n ? 100n : percent}" aria-hidden="true"></meter>`;
    return [name, used, credits, figureCell(`${formatInteger(percent)}% ${meter}`)];
  });
  return section('Budgets', tableHtml(['Name', 'Credits', 'Budget', 'Used'], rows));
}

/** Returns an empty text without cost cards. */
function marginSection({ margins: { totals, lowest, without } }: PageData): string {
  if (totals.length + without.length === 0) return '';
  const rows = [...totals, ...lowest].map(({ name, currency, revenue, cost }): PageCell[] => {
    const amounts = [revenue, cost, revenue - cost].map((minor) =>
      figureCell(formatDecimal(formatMinor(minor, currency))),
    );
    const percent = revenue > 0n ? figureCell(`${formatInteger(((revenue - cost) * 100n) / revenue)}%`) : null;
    return [`${name}, ${currency}`, ...amounts, percent];
  });
  const missing = without.map(({ why, tenants }) => `${formatInteger(tenants)} (${why})`);
  const words = missing.length === 0 ? '' : `<p>Without a margin: ${htmlText(missing.join(', '))}.</p>`;
  return section('Margin', `${tableHtml(['Tenant', 'Revenue', 'Cost', 'Margin', 'Margin (%)'], rows)}${words}`);
}

function moversSection({ movers, state, movedSince }: PageData, links: PageLinks | null): string {
  if (movers.length === 0) return '';
  const rows = movers.map(({ tenantId, name, credits, previous, change }): PageCell[] => [
    links === null ? name : tenantCell(tenantId, name, links),
    credits,
    previous,
    figureCell(formatSigned(change)),
  ]);
  const comparison =
    movedSince === 'same point'
      ? 'Month to date versus last month at the same point.'
      : 'Month to date versus all of last month (no reading at this point last month).';
  return section(
    'Biggest changes since last month',
    `${state === 'open' ? `<p class="quiet">${comparison}</p>\n` : ''}${tableHtml(['Tenant', 'Credits', 'Previous', 'Change'], rows)}`,
  );
}

function tenantsSection({ tenants, months }: PageData, links: PageLinks | null): string {
  if (tenants.length === 0) return '';
  const rows = tenants.map(({ tenantId, name, credits }): PageCell[] => [
    tenantCell(tenantId, name, links),
    credits.at(-1) ?? 0n,
    { html: sparkline(credits) },
  ]);
  const head = ['Tenant', 'Credits', `${months[0] ?? ''} to ${months.at(-1) ?? ''}`];
  return section('Largest tenants', tableHtml(head, rows));
}

/** Alerts shown at first. The rest is folded. */
const ALERTS_AT_A_GLANCE = 5;

export function alertsSection({ alerts, moreAlerts, timezone }: PageAlerts & Pick<PageData, 'timezone'>): string {
  if (alerts.length === 0) return section('Open alerts', '<p>No open alerts.</p>');
  const sentences = alerts.map(({ severity, state, since, muted, summary }) => {
    const notes = [
      since === null ? '' : `since ${localDay(since, timezone)}`,
      state === 'acknowledged' ? state : '',
      muted,
    ];
    const quiet = `<span class="quiet">${htmlText(notes.filter((word) => word).join(', '))}</span>`;
    return `<li><strong>${htmlText(severity)}</strong>: ${htmlText(summary)} ${quiet}</li>`;
  });
  const first = `<ul>\n${sentences.slice(0, ALERTS_AT_A_GLANCE).join('\n')}\n</ul>`;
  const others = sentences.slice(ALERTS_AT_A_GLANCE);
  const count = others.length + moreAlerts;
  if (count === 0) return section('Open alerts', first);
  if (moreAlerts > 0) others.push(`<li>and ${moreAlerts} more: see <code>usage-ledger alerts</code></li>`);
  const folded = `<details><summary>${count} more</summary><ul>\n${others.join('\n')}\n</ul></details>`;
  return section('Open alerts', `${first}${folded}`);
}

export function adjustmentsSection({ adjustments, timezone }: Pick<PageData, 'adjustments' | 'timezone'>): string {
  if (adjustments.length === 0) return section('Adjustments', '<p>No adjustments in this month.</p>');
  const rows = adjustments.map(({ name, corrects, credits, at }): PageCell[] => [
    name,
    corrects,
    credits,
    formatLocalTime(at, timezone),
  ]);
  return section('Adjustments', tableHtml(['Tenant', 'Corrects', 'Credits', 'Recorded'], rows));
}
