import { formatMinor } from '../../core/money.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { formatLocalTime } from '../../core/time-zone.ts';
import { formatDecimal, formatInteger, formatSigned } from '../formats/columns.ts';
import type { Charts } from './charts.ts';
import { adjustmentsSection, alertsSection, moneySection, paceSection } from './page-html.ts';
import {
  chartBox,
  figureCell,
  foldedFigures,
  originHtml,
  type PageCell,
  type PageLinks,
  pageOf,
  section,
  tableHtml,
} from './page-parts.ts';
import type { TenantPageData } from './tenant-data.ts';

export function tenantHtml(data: TenantPageData, charts: Charts, links: PageLinks): string {
  const sections = [
    tenantFacts(data, links),
    tenantCreditsSection(data, charts),
    ...data.money.map((money) => moneySection(data, money, charts)),
    paceSection(data, charts),
    linesSection(data),
    alertsSection(data),
    adjustmentsSection(data),
    entriesSection(data),
  ];
  return pageOf(`${data.name}, ${data.period}`, sections.filter((part) => part !== '').join('\n'));
}

function tenantFacts(
  { tenantId, externalRef, workspaceId, state, withdrawn, credits, origin }: TenantPageData,
  links: PageLinks,
): string {
  const reference = externalRef === null ? '' : `, ${htmlText(externalRef)}`;
  const gone = withdrawn ? ' The service no longer lists this tenant.' : '';
  return `<p><strong>${formatInteger(credits.at(-1) ?? 0n)} credits</strong>. The month is ${htmlText(state)}.${gone}</p>
<p class="quiet">${htmlText(tenantId)}${reference}, workspace <a href="${htmlText(links.workspace)}">${htmlText(workspaceId)}</a></p>
${originHtml(origin)}`;
}

function tenantCreditsSection({ months, credits, requests }: TenantPageData, charts: Charts): string {
  const rows = months.map((month, at) => ({ month, series: 'credits', value: Number(credits[at] ?? 0n) }));
  const text = { title: 'Credits by month', description: 'Credits of this tenant; the table has the figures.' };
  const table = tableHtml(
    ['Month', 'Credits', 'Requests'],
    months.map((month, at) => [month, credits[at] ?? 0n, requests[at] ?? 0n]),
  );
  return section(
    'Credits by month',
    `${chartBox(text.title, charts.stackedBars(rows, { series: ['credits'] }, text), { ofMonths: true })}${foldedFigures(table)}`,
  );
}

function linesSection({ lines }: TenantPageData): string {
  if (lines.length === 0) return section('Charges', '<p>No rate card applies.</p>');
  const rows = lines.map(({ kind, credits, amount, currency, card }): PageCell[] => [
    kind,
    credits,
    amount === null ? 'too large' : figureCell(`${formatDecimal(formatMinor(amount, currency))} ${htmlText(currency)}`),
    card,
  ]);
  return section('Charges', tableHtml(['Line', 'Credits', 'Amount', 'Rate card'], rows));
}

function entriesSection({ entries, timezone }: TenantPageData): string {
  const rows = entries.map(({ at, period, kind, delta, after }): PageCell[] => [
    formatLocalTime(at, timezone),
    period,
    kind,
    figureCell(formatSigned(delta)),
    after,
  ]);
  return section('Latest entries', tableHtml(['Recorded', 'Month', 'Kind', 'Change', 'Credits after'], rows));
}
