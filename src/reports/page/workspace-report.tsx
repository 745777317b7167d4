import { formatMinor } from '../../core/money.ts';
import { counted } from '../../core/text/words.ts';
import { formatLocalTime } from '../../core/time-zone.ts';
import type { MonthForecast } from '../../ledger/journal/charges/credit-pricer.ts';
import { Card, type Cell, Empty, FigureTable, figure } from '../../look/parts.tsx';
import { formatDecimal, formatInteger, formatSigned } from '../formats/columns.ts';
import { amountCell } from './amount-cell.ts';
import { ChartCard } from './chart-card.tsx';
import { sparkPoints } from './charts.ts';
import { creditsBySeries, type ReportCharts, seriesOf } from './draw-charts.ts';
import type { PageData } from './page-data.ts';
import { AdjustmentsCard, AlertsCard, MoneyCards, Origin, PaceCard, type PageLinks } from './shared-cards.tsx';

interface WorkspaceReportProps {
  data: PageData;
  charts: ReportCharts;
  /** The addresses of other reports to link to; null if the report has no links. */
  links: PageLinks | null;
}

export function workspaceTitle({ workspaceName, period }: PageData): string {
  return `Usage of ${workspaceName}, ${period}`;
}

/** Renders a workspace's month, with a table of figures for each chart. The result depends only on the properties. */
export function WorkspaceReport({ data, charts, links }: WorkspaceReportProps) {
  return (
    <div class="report">
      <Lead data={data} />
      <AlertsCard {...data} />
      <Credits data={data} charts={charts} />
      <MoneyCards data={data} drawings={charts.money} />
      <PaceCard days={data.days} drawing={charts.pace} />
      <WorkspaceBudgets data={data} />
      <Margins data={data} />
      <Movers data={data} links={links} />
      <Tenants data={data} links={links} />
      <AdjustmentsCard {...data} />
      <Origin {...data.origin} />
    </div>
  );
}

function Lead({ data }: { data: PageData }) {
  const { workspaceId, state, timezone, asOf, complete, totals, tenantCounts, forecast } = data;
  const money = data.money
    .map(({ currency, amounts }) => ({ currency, amountMinor: amounts.at(-1) ?? 0n }))
    .filter(({ amountMinor }) => amountMinor !== 0n);
  const all = formatAmounts({ credits: totals.at(-1) ?? 0n, money });
  const proof = complete ? 'verified as complete after its end' : 'not read since its end';
  const ended = state === 'open' ? 'The month is not over.' : `The month is ${state}, ${proof}.`;
  return (
    <>
      <p class="lead">
        <strong>{state === 'open' ? `Month to date: ${all}` : all}</strong> for{' '}
        {counted(tenantCounts.at(-1) ?? 0, 'tenant')}
        {comparisonText(data)}. {ended}
        {forecast === null || forecast.credits === 0n ? null : (
          <>
            {' '}
            Forecast for the month: <strong>{formatAmounts(forecast)}</strong>.
          </>
        )}
      </p>
      <p class="quiet small">
        Workspace {workspaceId}, as of {asOf === null ? 'never' : formatLocalTime(asOf, timezone)}
      </p>
    </>
  );
}

function formatAmounts({ credits, money }: MonthForecast): string {
  const amounts = money.map(
    ({ currency, amountMinor }) => `${formatDecimal(formatMinor(amountMinor, currency))} ${currency}`,
  );
  return [`${formatInteger(credits)} credits`, ...amounts].join(' and ');
}

/**
 * Formats the comparison with the previous month. An open month is compared with the previous month up to the same day,
 * any other month with the whole previous month.
 */
function comparisonText({ state, days, months, totals }: PageData): string {
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
  const when = `${isOpen ? 'on the same day of' : 'in'} ${months.at(-2) ?? 'the previous month'}`;
  return `, ${change} ${when} (${formatInteger(before)})`;
}

function Credits({ data, charts: { credits } }: { data: PageData; charts: ReportCharts }) {
  const title = 'Credits by month';
  if (credits === null) {
    return (
      <Card title={title}>
        <Empty>No usage.</Empty>
      </Card>
    );
  }
  const values = creditsBySeries(data);
  const rows = data.months.map((month, at): Cell[] => [
    month,
    ...values.map((row) => row[at] ?? 0n),
    data.totals[at] ?? 0n,
  ]);
  return (
    <ChartCard ofMonths title={title} drawing={credits} heads={['Month', ...seriesOf(data), 'Total']} rows={rows} />
  );
}

function WorkspaceBudgets({ data: { budgets } }: { data: PageData }) {
  if (budgets.length === 0) return null;
  const rows = budgets.map(({ name, credits, used }): Cell[] => {
    const percent = (used * 100n) / credits;
    const filled = Number(percent > 100n ? 100n : percent);
    const share = (
      <>
        {formatInteger(percent)}% <meter max={100} value={filled} aria-hidden="true" />
      </>
    );
    return [name, used, credits, figure(share)];
  });
  return (
    <Card title="Budgets">
      <FigureTable label="Budgets" heads={['Name', 'Credits', 'Budget', 'Used']} rows={rows} isStacked />
    </Card>
  );
}

function Margins({ data: { margins } }: { data: PageData }) {
  const { totals, lowest, without } = margins;
  if (totals.length + without.length === 0) return null;
  const rows = [...totals, ...lowest].map(({ name, currency, revenue, cost }): Cell[] => [
    `${name}, ${currency}`,
    ...[revenue, cost, revenue - cost].map((minor) => amountCell(minor, currency)),
    revenue > 0n ? figure(`${formatInteger(((revenue - cost) * 100n) / revenue)}%`) : null,
  ]);
  const missing = without.map(({ why, tenants }) => `${formatInteger(tenants)} (${why})`);
  return (
    <Card title="Margin">
      <FigureTable label="Margin" heads={['Tenant', 'Revenue', 'Cost', 'Margin', 'Margin (%)']} rows={rows} isStacked />
      {missing.length === 0 ? null : <p class="inside">Without a margin: {missing.join(', ')}.</p>}
    </Card>
  );
}

function Movers({ data: { movers, state, movedSince }, links }: Omit<WorkspaceReportProps, 'charts'>) {
  if (movers.length === 0) return null;
  const comparison =
    movedSince === 'same point'
      ? 'Month to date versus last month at the same point.'
      : 'Month to date versus all of last month (no reading at this point last month).';
  const rows = movers.map(({ tenantId, name, credits, previous, change }): Cell[] => [
    tenantCell(tenantId, name, links),
    credits,
    previous,
    figure(formatSigned(change)),
  ]);
  return (
    <Card title="Biggest changes since last month" note={state === 'open' ? comparison : undefined}>
      <FigureTable label="Biggest changes" heads={['Tenant', 'Credits', 'Previous', 'Change']} rows={rows} isStacked />
    </Card>
  );
}

function Tenants({ data: { tenants, months }, links }: Omit<WorkspaceReportProps, 'charts'>) {
  if (tenants.length === 0) return null;
  const rows = tenants.map(({ tenantId, name, credits }): Cell[] => [
    tenantCell(tenantId, name, links),
    credits.at(-1) ?? 0n,
    {
      content: (
        <svg class="spark" viewBox="0 0 100 24" aria-hidden="true">
          <polyline points={sparkPoints(credits)} />
        </svg>
      ),
    },
  ]);
  const heads = ['Tenant', 'Credits', `${months[0] ?? ''} to ${months.at(-1) ?? ''}`];
  return (
    <Card title="Largest tenants">
      <FigureTable label="Largest tenants" heads={heads} rows={rows} isStacked />
    </Card>
  );
}

function tenantCell(tenantId: string, name: string, links: PageLinks | null): Cell {
  const shown = links === null ? name : <a href={links.tenant(tenantId)}>{name}</a>;
  return {
    content: (
      <>
        {shown}
        {name === tenantId ? null : <small>{tenantId}</small>}
      </>
    ),
  };
}
