import { formatMinor } from '../../core/money.ts';
import { formatLocalTime } from '../../core/time-zone.ts';
import { Card, type Cell, Empty, FigureTable, figure } from '../../look/parts.tsx';
import { formatDecimal, formatInteger, formatSigned } from '../formats/columns.ts';
import { ChartCard } from './chart-card.tsx';
import type { ReportCharts } from './draw-charts.ts';
import { AdjustmentsCard, AlertsCard, MoneyCards, Origin, PaceCard, type PageLinks } from './shared-cards.tsx';
import type { TenantPageData } from './tenant-data.ts';

interface TenantReportProps {
  data: TenantPageData;
  charts: ReportCharts;
  links: PageLinks;
}

export function tenantTitle({ name, period }: TenantPageData): string {
  return `${name}, ${period}`;
}

/** Renders a tenant's month, with the lines of the tenant's charge and the latest recorded changes. */
export function TenantReport({ data, charts, links }: TenantReportProps) {
  return (
    <div class="report">
      <TenantLead data={data} links={links} />
      <TenantCredits data={data} charts={charts} />
      <MoneyCards data={data} drawings={charts.money} />
      <PaceCard days={data.days} drawing={charts.pace} />
      <Charges data={data} />
      <AlertsCard {...data} />
      <AdjustmentsCard {...data} />
      <Entries data={data} />
    </div>
  );
}

function TenantLead({ data, links }: Omit<TenantReportProps, 'charts'>) {
  const { tenantId, externalRef, workspaceId, state, withdrawn, credits, origin } = data;
  return (
    <>
      <p class="lead">
        <strong>{formatInteger(credits.at(-1) ?? 0n)} credits</strong>. The month is {state}.
        {withdrawn ? ' The service no longer lists this tenant.' : ''}
      </p>
      <p class="quiet small">
        {externalRef === null ? tenantId : `${tenantId}, ${externalRef}`}, workspace{' '}
        <a href={links.workspace}>{workspaceId}</a>
      </p>
      <Origin {...origin} />
    </>
  );
}

function TenantCredits({ data: { months, credits, requests }, charts }: Omit<TenantReportProps, 'links'>) {
  if (charts.credits === null) return null;
  const rows = months.map((month, at): Cell[] => [month, credits[at] ?? 0n, requests[at] ?? 0n]);
  const heads = ['Month', 'Credits', 'Requests'];
  return <ChartCard ofMonths title="Credits by month" drawing={charts.credits} heads={heads} rows={rows} />;
}

function Charges({ data: { lines } }: { data: TenantPageData }) {
  const rows = lines.map(({ kind, credits, amount, currency, card }): Cell[] => [
    kind,
    credits,
    amount === null ? 'too large' : figure(`${formatDecimal(formatMinor(amount, currency))} ${currency}`),
    card,
  ]);
  return (
    <Card title="Charges">
      {rows.length === 0 ? (
        <Empty>No rate card applies.</Empty>
      ) : (
        <FigureTable label="Charges" heads={['Line', 'Credits', 'Amount', 'Rate card']} rows={rows} isStacked />
      )}
    </Card>
  );
}

function Entries({ data: { entries, timezone } }: { data: TenantPageData }) {
  const rows = entries.map(({ at, period, kind, delta, after }): Cell[] => [
    formatLocalTime(at, timezone),
    period,
    kind,
    figure(formatSigned(delta)),
    after,
  ]);
  const heads = ['Recorded', 'Month', 'Kind', 'Change', 'Credits after'];
  return (
    <Card title="Latest entries">
      <FigureTable label="Latest entries" heads={heads} rows={rows} isStacked />
    </Card>
  );
}
