import { formatMinor, minorDigits } from '../../core/money.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { formatInteger } from '../formats/format.ts';
import type { PageData } from '../queries/page-data.ts';
import { type Charts, COLOURS, sparkline } from './charts.ts';
import { PAGE_STYLE } from './page-style.ts';

/** A cell of a table; a bigint is grouped and set to the right. `html` is markup of ours. */
type Cell = string | bigint | null | { html: string };

const OTHERS = 'all others';

/** The page as one file: no script, nothing to fetch, a table behind each chart. A function of its input alone. */
export function pageHtml(data: PageData, charts: Charts): string {
  const title = `Usage of ${data.workspaceName}, ${data.period}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${htmlText(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${htmlText(title)}</h1>
${facts(data)}
${creditsSection(data, charts)}
${data.money.map((money) => moneySection(data, money, charts)).join('')}${paceSection(data, charts)}
${moversSection(data)}
${tenantsSection(data)}
${alertsSection(data)}
${adjustmentsSection(data)}
</main>
</body>
</html>
`;
}

function facts({ workspaceId, state, asOf, complete, headDigest, totals, tenantCounts }: PageData): string {
  const proof = complete ? 'proven complete after its end' : 'not yet read after its end';
  return `<p><strong>${formatInteger(totals.at(-1) ?? 0n)} credits</strong> of ${formatInteger(tenantCounts.at(-1) ?? 0)} tenants. The month is ${htmlText(state)}, ${proof}.</p>
<p class="quiet">Workspace ${htmlText(workspaceId)}, as of ${htmlText(asOf ?? 'never')}${headDigest === null ? '' : `, head digest ${htmlText(headDigest)}`}</p>`;
}

function creditsSection({ months, top, others, totals }: PageData, charts: Charts): string {
  const series = [...top.map(({ name }, at) => `${at + 1}. ${name}`), OTHERS];
  const values = [...top.map(({ credits }) => credits), others];
  const rows = months.flatMap((month, at) =>
    series.map((name, index) => ({ month, series: name, value: Number(values[index]?.[at] ?? 0n) })),
  );
  const text = { title: 'Credits by month', description: 'Stacked by the largest tenants; the table has the figures.' };
  const table = tableOf(
    ['Month', ...series, 'Total'],
    months.map((month, at) => [month, ...values.map((row) => row[at] ?? 0n), totals[at] ?? 0n]),
  );
  return section('Credits by month', `${legend(series)}${charts.stackedBars(rows, series, text)}${behind(table)}`);
}

function moneySection({ months }: PageData, { currency, amounts }: PageData['money'][number], charts: Charts): string {
  const unit = 10 ** minorDigits(currency);
  const rows = months.map((month, at) => ({ month, series: currency, value: Number(amounts[at] ?? 0n) / unit }));
  const text = { title: `${currency} by month`, description: 'Charges and corrections; the table has the figures.' };
  const table = tableOf(
    ['Month', currency],
    months.map((month, at) => [month, { html: `<span>${formatMinor(amounts[at] ?? 0n, currency)}</span>` }]),
  );
  return section(`${currency} by month`, `${charts.stackedBars(rows, [currency], text)}${behind(table)}\n`);
}

function paceSection({ days, period }: PageData, charts: Charts): string {
  if (days.every(({ current }) => current === null)) return '';
  const series = [period, 'the month before'];
  const rows = days.flatMap(({ day, current, previous }) => [
    ...(current === null ? [] : [{ day, series: period, value: Number(current) }]),
    ...(previous === null ? [] : [{ day, series: 'the month before', value: Number(previous) }]),
  ]);
  const text = { title: 'Credits at the end of each day', description: 'This month beside the one before, as read.' };
  const table = tableOf(
    ['Day', ...series],
    days.map(({ day, current, previous }) => [String(day), current, previous]),
  );
  return section('Pace', `${legend(series)}${charts.lines(rows, series, text)}${behind(table)}`);
}

function moversSection({ movers }: PageData): string {
  const rows = movers.map(({ name, credits, previous, change }): Cell[] => [
    name,
    credits,
    previous,
    { html: `<span>${change > 0n ? '+' : ''}${formatInteger(change)}</span>` },
  ]);
  return section('Moved most since the month before', tableOf(['Tenant', 'Credits', 'Before', 'Change'], rows));
}

function tenantsSection({ tenants, months }: PageData): string {
  const rows = tenants.map(({ tenantId, name, credits }): Cell[] => [
    { html: `${htmlText(name)}${name === tenantId ? '' : ` <span class="quiet">${htmlText(tenantId)}</span>`}` },
    credits.at(-1) ?? 0n,
    { html: sparkline(credits) },
  ]);
  const head = ['Tenant', 'Credits', `${months[0] ?? ''} to ${months.at(-1) ?? ''}`];
  return section('Largest tenants', tableOf(head, rows));
}

function alertsSection({ alerts }: PageData): string {
  if (alerts.length === 0) return section('Alerts', '<p>None is open.</p>');
  const rows = alerts.map(({ rule, severity, state, name, since }): Cell[] => [severity, rule, name, state, since]);
  return section('Alerts', tableOf(['Severity', 'Rule', 'About', 'State', 'Since'], rows));
}

function adjustmentsSection({ adjustments }: PageData): string {
  if (adjustments.length === 0) return section('Adjustments', '<p>None is booked in this month.</p>');
  const rows = adjustments.map(({ name, corrects, credits, at }): Cell[] => [name, corrects, credits, at]);
  return section('Adjustments of closed months', tableOf(['Tenant', 'Corrects', 'Credits', 'Recorded'], rows));
}

function section(title: string, body: string): string {
  return `<section>\n<h2>${htmlText(title)}</h2>\n${body}\n</section>`;
}

function behind(table: string): string {
  return `<details><summary>Figures</summary>${table}</details>`;
}

function legend(series: readonly string[]): string {
  const items = series.map(
    (name, at) => `<li><span style="background:${COLOURS[at % COLOURS.length]}"></span>${htmlText(name)}</li>`,
  );
  return `<ul class="legend">${items.join('')}</ul>\n`;
}

function tableOf(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = (row: readonly Cell[]): string => row.map(cellHtml).join('');
  const isNumber = head.map((_, at) => rows.some((row) => isNumeric(row[at] ?? null)));
  const titles = head
    .map((title, at) => `<th scope="col"${isNumber[at] === true ? ' class="number"' : ''}>${htmlText(title)}</th>`)
    .join('');
  return `<div class="scroll" tabindex="0" role="region" aria-label="${htmlText(head.join(', '))}"><table>
<thead><tr>${titles}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cells(row)}</tr>`).join('\n')}</tbody>
</table></div>`;
}

/** Markup of a figure is a `span`. */
function isNumeric(cell: Cell): boolean {
  if (cell === null || typeof cell === 'string') return false;
  return typeof cell === 'bigint' || cell.html.startsWith('<span>');
}

function cellHtml(cell: Cell): string {
  if (cell === null) return '<td></td>';
  if (typeof cell === 'bigint') return `<td class="number">${formatInteger(cell)}</td>`;
  if (typeof cell === 'string') return `<td>${htmlText(cell)}</td>`;
  return `<td${isNumeric(cell) ? ' class="number"' : ''}>${cell.html}</td>`;
}
