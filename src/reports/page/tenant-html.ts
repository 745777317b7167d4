import { formatMinor } from '../../core/money.ts';
import { htmlText } from '../../core/text/html-text.ts';
import { formatDecimal, formatInteger, formatSigned } from '../formats/columns.ts';
import type { Charts } from './charts.ts';
import { adjustmentsSection, alertsSection, moneySection, paceSection } from './page-html.ts';
import {
  behind,
  type Cell,
  chartBox,
  figure,
  originHtml,
  type PageLinks,
  pageOf,
  section,
  tableOf,
} from './page-parts.ts';
import type { TenantPageData } from './tenant-data.ts';

export function tenantHtml(data: TenantPageData, charts: Charts, links: PageLinks): string {
  const sections = [
    facts(data, links),
    creditsSection(data, charts),
    ...data.money.map((money) => moneySection(data, money, charts)),
    paceSection(data, charts),
    linesSection(data),
    alertsSection(data),
    adjustmentsSection(data),
    entriesSection(data),
  ];
  return pageOf(`${data.name}, ${data.period}`, sections.filter((part) => part !== '').join('\n'));
}

function facts(
  { tenantId, externalRef, workspaceId, state, withdrawn, credits, origin }: TenantPageData,
  links: PageLinks,
): string {
  const reference = externalRef === null ? '' : `, ${htmlText(externalRef)}`;
  const gone = withdrawn ? ' The service lists it no more.' : '';
  return `<p><strong>${formatInteger(credits.at(-1) ?? 0n)} credits</strong>. The month is ${htmlText(state)}.${gone}</p>
<p class="quiet">${htmlText(tenantId)}${reference}, workspace <a href="${htmlText(links.workspace)}">${htmlText(workspaceId)}</a></p>
${originHtml(origin)}`;
}

function creditsSection({ months, credits, requests }: TenantPageData, charts: Charts): string {
  const rows = months.map((month, at) => ({ month, series: 'credits', value: Number(credits[at] ?? 0n) }));
  const text = { title: 'Credits by month', description: 'Of this tenant; the table has the figures.' };
  const table = tableOf(
    ['Month', 'Credits', 'Requests'],
    months.map((month, at) => [month, credits[at] ?? 0n, requests[at] ?? 0n]),
  );
  return section(
    'Credits by month',
    `${chartBox(text.title, charts.stackedBars(rows, { series: ['credits'] }, text))}${behind(table)}`,
  );
}

function linesSection({ lines }: TenantPageData): string {
  if (lines.length === 0) return section('What it is billed', '<p>No rate card prices it.</p>');
  const rows = lines.map(({ kind, credits, amount, currency, card }): Cell[] => [
    kind,
    credits,
    amount === null ? 'too large' : figure(`${formatDecimal(formatMinor(amount, currency))} ${htmlText(currency)}`),
    card,
  ]);
  return section('What it is billed', tableOf(['Line', 'Credits', 'Amount', 'Rate card'], rows));
}

function entriesSection({ entries }: TenantPageData): string {
  const rows = entries.map(({ at, period, kind, delta, after }): Cell[] => [
    at,
    period,
    kind,
    figure(formatSigned(delta)),
    after,
  ]);
  return section('What was recorded last', tableOf(['Recorded', 'Month', 'Kind', 'Change', 'Credits after'], rows));
}
