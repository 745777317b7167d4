import { formatMinor, minorDigits } from '../../core/money.ts';
import { htmlText } from '../../core/text/html-text.ts';
import type { Forecast } from '../../ledger/journal/charges/credit-pricer.ts';
import { formatDecimal, formatInteger, formatSigned } from '../formats/columns.ts';
import { type Charts, type Outline, sparkline } from './charts.ts';
import type { PageData } from './page-data.ts';
import {
  behind,
  type Cell,
  chartBox,
  figure,
  legend,
  originHtml,
  type PageAlerts,
  type PageLinks,
  pageOf,
  section,
  tableOf,
  tenantCell,
} from './page-parts.ts';

const OTHERS = 'all others';

/**
 * The page of a workspace as one file, with a table behind each chart. A function of its input alone. `links` leads to the
 * pages of tenants, where there are some.
 */
export function pageHtml(data: PageData, charts: Charts, links: PageLinks | null = null): string {
  const sections = [
    facts(data),
    alertsSection(data),
    creditsSection(data, charts),
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

function facts(data: PageData): string {
  const { workspaceId, state, asOf, complete, totals, tenantCounts, forecast } = data;
  const proof = complete ? 'proven complete after its end' : 'not yet read after its end';
  const ended = state === 'open' ? 'The month goes on.' : `The month is ${htmlText(state)}, ${proof}.`;
  const money = data.money
    .filter(({ amounts }) => (amounts.at(-1) ?? 0n) !== 0n)
    .map(({ currency, amounts }) => ({ currency, amountMinor: amounts.at(-1) ?? 0n }));
  const count = tenantCounts.at(-1) ?? 0;
  const all = amountsOf({ credits: totals.at(-1) ?? 0n, money });
  const toCome =
    forecast === null || forecast.credits === 0n
      ? ''
      : ` Forecast for its end: <strong>${amountsOf(forecast)}</strong>.`;
  const whose = `of ${formatInteger(count)} ${count === 1 ? 'tenant' : 'tenants'}`;
  return `<p class="lead"><strong>${state === 'open' ? `So far ${all}` : all}</strong> ${whose}${comparedWith(data)}. ${ended}${toCome}</p>
<p class="quiet">Workspace ${htmlText(workspaceId)}, as of ${htmlText(asOf ?? 'never')}</p>`;
}

function amountsOf({ credits, money }: Forecast): string {
  const amounts = money.map(
    ({ currency, amountMinor }) => `${formatDecimal(formatMinor(amountMinor, currency))} ${currency}`,
  );
  return [`${formatInteger(credits)} credits`, ...amounts].join(' and ');
}

/** The month before: an open month is set beside what it had on the same day, any other beside all of it. */
function comparedWith({ state, days, months, totals }: PageData): string {
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
  const when = isOpen ? ` had on the same day (${formatInteger(before)})` : ` had (${formatInteger(before)})`;
  return `, ${change} ${htmlText(months.at(-2) ?? 'the month before')}${when}`;
}

function creditsSection({ months, top, others, totals, forecast }: PageData, charts: Charts): string {
  if (totals.every((total) => total === 0n)) return section('Credits by month', '<p>Nobody has used anything.</p>');
  const hasOthers = others.some((credits) => credits !== 0n);
  const series = [...top.map(({ name }, at) => `${at + 1}. ${name}`), ...(hasOthers ? [OTHERS] : [])];
  const values = [...top.map(({ credits }) => credits), ...(hasOthers ? [others] : [])];
  const rows = months.flatMap((month, at) =>
    series.map((name, index) => ({ month, series: name, value: Number(values[index]?.[at] ?? 0n) })),
  );
  const text = { title: 'Credits by month', description: 'Stacked by the largest tenants; the table has the figures.' };
  const outline = outlineOf(months, Number(totals.at(-1) ?? 0n), forecast === null ? null : Number(forecast.credits));
  const table = tableOf(
    ['Month', ...series, 'Total'],
    months.map((month, at) => [month, ...values.map((row) => row[at] ?? 0n), totals[at] ?? 0n]),
  );
  return section(
    'Credits by month',
    `${legend(series)}${outlineWords(outline)}${chartBox(text.title, charts.stackedBars(rows, { series, forecast: outline }, text))}${behind(table)}`,
  );
}

/** Null where the forecast is not beyond what there is. */
function outlineOf(months: readonly string[], from: number, to: number | null): Outline | null {
  const month = months.at(-1);
  return month === undefined || to === null || to <= from || from < 0 ? null : { month, from, to };
}

function outlineWords(outline: Outline | null): string {
  return outline === null ? '' : '<p class="quiet">In outline: the forecast for the month.</p>\n';
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
  const table = tableOf(
    ['Month', currency],
    months.map((month, at) => [month, figure(formatDecimal(formatMinor(amounts[at] ?? 0n, currency)))]),
  );
  return section(
    `${currency} by month`,
    `${outlineWords(outline)}${chartBox(text.title, charts.stackedBars(rows, { series: [currency], forecast: outline }, text))}${behind(table)}`,
  );
}

export function paceSection({ days, period }: Pick<PageData, 'days' | 'period'>, charts: Charts): string {
  if (days.filter(({ current }) => current !== null).length < 2) return '';
  const hasBefore = days.some(({ previous }) => previous !== null);
  const series = hasBefore ? [period, 'the month before'] : [period];
  const rows = days.flatMap(({ day, current, previous }) => [
    ...(current === null ? [] : [{ day, series: period, value: Number(current) }]),
    ...(previous === null ? [] : [{ day, series: 'the month before', value: Number(previous) }]),
  ]);
  const text = { title: 'Credits at the end of each day', description: 'This month beside the one before, as read.' };
  const table = tableOf(
    ['Day', ...series],
    days.map(({ day, current, previous }) => [String(day), current, ...(hasBefore ? [previous] : [])]),
  );
  return section('Pace', `${legend(series)}${chartBox(text.title, charts.lines(rows, series, text))}${behind(table)}`);
}

/** Empty without budgets. */
function budgetSection({ budgets }: PageData): string {
  if (budgets.length === 0) return '';
  const rows = budgets.map(({ name, credits, used }): Cell[] => {
    const percent = (used * 100n) / credits;
    const meter = `<meter max="100" value="${percent > 100n ? 100n : percent}" aria-hidden="true"></meter>`;
    return [name, used, credits, figure(`${formatInteger(percent)}% ${meter}`)];
  });
  return section('Budgets', tableOf(['Of', 'Credits', 'Budget', 'Used'], rows));
}

/** Empty without cost cards. */
function marginSection({ margins: { totals, lowest, without } }: PageData): string {
  if (totals.length + without.length === 0) return '';
  const rows = [...totals, ...lowest].map(({ name, currency, revenue, cost }): Cell[] => {
    const amounts = [revenue, cost, revenue - cost].map((minor) => figure(formatDecimal(formatMinor(minor, currency))));
    const percent = revenue > 0n ? figure(`${formatInteger(((revenue - cost) * 100n) / revenue)}%`) : null;
    return [`${name}, ${currency}`, ...amounts, percent];
  });
  const missing = without.map(({ why, tenants }) => `${formatInteger(tenants)} (${why})`);
  const words = missing.length === 0 ? '' : `<p>Without a margin: ${htmlText(missing.join(', '))}.</p>`;
  return section('Margin', `${tableOf(['Tenant', 'Revenue', 'Cost', 'Margin', 'Of the revenue'], rows)}${words}`);
}

function moversSection({ movers, state, movedSince }: PageData, links: PageLinks | null): string {
  if (movers.length === 0) return '';
  const rows = movers.map(({ tenantId, name, credits, previous, change }): Cell[] => [
    links === null ? name : tenantCell(tenantId, name, links),
    credits,
    previous,
    figure(formatSigned(change)),
  ]);
  const beside =
    movedSince === 'same point'
      ? 'The month so far beside the one before at the same point.'
      : 'The month so far beside the whole of the one before, of which nothing was read at this point.';
  return section(
    'Moved most since the month before',
    `${state === 'open' ? `<p class="quiet">${beside}</p>\n` : ''}${tableOf(['Tenant', 'Credits', 'Before', 'Change'], rows)}`,
  );
}

function tenantsSection({ tenants, months }: PageData, links: PageLinks | null): string {
  if (tenants.length === 0) return '';
  const rows = tenants.map(({ tenantId, name, credits }): Cell[] => [
    tenantCell(tenantId, name, links),
    credits.at(-1) ?? 0n,
    { html: sparkline(credits) },
  ]);
  const head = ['Tenant', 'Credits', `${months[0] ?? ''} to ${months.at(-1) ?? ''}`];
  return section('Largest tenants', tableOf(head, rows));
}

/** So many are read at a glance; the others are a click away. */
const ALERTS_AT_A_GLANCE = 5;

export function alertsSection({ alerts, moreAlerts }: PageAlerts): string {
  if (alerts.length === 0) return section('Alerts', '<p>None is open.</p>');
  const sentences = alerts.map(({ severity, state, since, muted, summary }) => {
    const told = [since === null ? '' : `since ${since.slice(0, 10)}`, state === 'acknowledged' ? state : '', muted];
    const quiet = `<span class="quiet">${htmlText(told.filter((word) => word).join(', '))}</span>`;
    return `<li><strong>${htmlText(severity)}</strong>: ${htmlText(summary)} ${quiet}</li>`;
  });
  const first = `<ul>\n${sentences.slice(0, ALERTS_AT_A_GLANCE).join('\n')}\n</ul>`;
  const others = sentences.slice(ALERTS_AT_A_GLANCE);
  const count = others.length + moreAlerts;
  if (count === 0) return section('Alerts', first);
  if (moreAlerts > 0) others.push(`<li>and ${moreAlerts} more: see <code>usage-ledger alerts</code></li>`);
  const folded = `<details><summary>${count} more</summary><ul>\n${others.join('\n')}\n</ul></details>`;
  return section('Alerts', `${first}${folded}`);
}

export function adjustmentsSection({ adjustments }: Pick<PageData, 'adjustments'>): string {
  if (adjustments.length === 0) return section('Adjustments', '<p>None is booked in this month.</p>');
  const rows = adjustments.map(({ name, corrects, credits, at }): Cell[] => [name, corrects, credits, at]);
  return section('Adjustments of closed months', tableOf(['Tenant', 'Corrects', 'Credits', 'Recorded'], rows));
}
