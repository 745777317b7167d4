import { mutedWords } from '../../../alerts/messages/muted.ts';
import type { ListedAlert } from '../../../alerts/queries/alerts.ts';
import { DAY_MS } from '../../../core/durations.ts';
import { formatMinor } from '../../../core/money.ts';
import { addPeriods, periodAt, periodEndMs, periodStartMs } from '../../../core/period.ts';
import { formatInteger, formatSigned } from '../../../reports/formats/columns.ts';
import type { TenantPageData } from '../../../reports/page/tenant-data.ts';
import { ruleLabel } from '../alerts/alert-labels.ts';
import { StateBadge } from '../alerts/list-page.tsx';
import { alertLink, changeText, linkTo, moneyText, monthName, tenantLink } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { MonthChart, type MonthChartData, MonthLegend } from '../shell/month-chart.tsx';
import { Badge, Card, Empty, SeverityBadge, Table, Tile, Time } from '../shell/parts.tsx';
import { StatementLinks } from '../shell/statement-links.tsx';
import type { Visit } from '../shell/visit.ts';
import { EditCard } from './edit-card.tsx';

interface TenantPageProps {
  visit: Visit;
  data: TenantPageData;
  /** The latest alerts about the tenant, in any state. */
  alerts: readonly ListedAlert[];
  openAlerts: number;
}

/** The page of a tenant. It answers: what did the tenant use and what is it charged, month by month, and why? */
export function TenantPage({ visit, data, alerts, openAlerts }: TenantPageProps) {
  const { workspaceId, tenantId, name, externalRef, labels, period, withdrawn } = data;
  const facts = [
    name === tenantId ? null : tenantId,
    externalRef,
    ...Object.entries(labels).map(([label, value]) => `${label}=${value}`),
    workspaceId,
  ].filter((part) => part !== null);
  return (
    <Layout visit={visit} place="tenants" title={name}>
      <p class="crumb">
        <a href={linkTo('/tenants', { period })}>Tenants</a>
      </p>
      <div class="head">
        <h1>{name}</h1>
        <p>
          {facts.join(' · ')} {withdrawn ? <Badge tone="odd">withdrawn</Badge> : null}
        </p>
      </div>
      <MonthTiles
        data={data}
        isOpen={period === periodAt(visit.nowMs)}
        openAlerts={openAlerts}
        hasMuted={alerts.some(({ state }) => state === 'firing')}
      />
      <div class="columns">
        <div>
          <Days data={data} />
          <Months data={data} openMonth={periodAt(visit.nowMs)} />
          <Lines data={data} />
          <TenantEntries data={data} />
        </div>
        <div>
          <Documents data={data} />
          <EditCard visit={visit} data={data} />
          <Alerts alerts={alerts} />
          <Corrections data={data} />
        </div>
      </div>
    </Layout>
  );
}

/** The figures of the shown month, compared with the previous month. */
function MonthTiles({
  data,
  isOpen,
  openAlerts,
  hasMuted,
}: Pick<TenantPageProps, 'data' | 'openAlerts'> & { isOpen: boolean; hasMuted: boolean }) {
  const { months, credits, money, period } = data;
  const at = months.indexOf(period);
  if (at < 0) return null;
  const [now, before] = [credits[at] ?? 0n, credits[at - 1]];
  const previous = months[at - 1];
  const compared = previous === undefined ? null : `in ${monthName(previous)}`;
  const change = isOpen || before === undefined ? null : changeText(now, before);
  return (
    <div class="tiles">
      <Tile label={isOpen ? `Credits, ${monthName(period)} to date` : `Credits, ${monthName(period)}`}>
        <p class="figure">{formatInteger(now)}</p>
        <p class="quiet">
          {before === undefined ? 'no earlier month' : `${formatInteger(before)} ${compared}`}
          {change === null ? null : ` (${change})`}
        </p>
      </Tile>
      {money.map(({ currency, amounts }) => (
        <Tile key={currency} label={isOpen ? 'Charge to date' : 'Charge'}>
          <p class="figure">
            {monthAmountText(amounts[at] ?? 0n, currency)} <span class="unit">{currency}</span>
          </p>
          {compared === null ? null : (
            <p class="quiet">
              {monthAmountText(amounts[at - 1] ?? 0n, currency)} {compared}
            </p>
          )}
        </Tile>
      ))}
      <Tile label="Open alerts">
        <p class={`figure ${openAlerts === 0 ? '' : 'odd'}`}>{formatInteger(openAlerts)}</p>
        <p class="quiet">
          {openAlerts > 0 ? 'listed below' : hasMuted ? 'muted ones are listed below' : 'nothing unusual'}
        </p>
      </Tile>
    </div>
  );
}

function Days({ data: { days, period } }: { data: TenantPageData }) {
  const lastDay = days.findLast(({ current }) => current !== null)?.day ?? 0;
  if (days.length === 0) return null;
  const length = (periodEndMs(period) - periodStartMs(period)) / DAY_MS;
  const series = (side: 'current' | 'previous', until: number): (bigint | null)[] =>
    Array.from({ length: until }, (_, index) => days.find(({ day }) => day === index + 1)?.[side] ?? null);
  const chart: MonthChartData = {
    days: length,
    currentName: monthName(period),
    previousName: monthName(addPeriods(period, -1)),
    current: series('current', lastDay),
    previous: series('previous', days.findLast(({ previous }) => previous !== null)?.day ?? 0),
    elapsed: lastDay / length,
    limit: null,
    forecast: null,
    marks: [],
  };
  return (
    <Card title="Credits since the month began">
      <div class="inside">
        <MonthLegend data={chart} />
        <MonthChart data={chart} label={`Credits by day in ${chart.currentName} and ${chart.previousName}`} />
      </div>
    </Card>
  );
}

function Months({ data, openMonth }: { data: TenantPageData; openMonth: string }) {
  const { months, credits, requests, money, workspaceId, tenantId, period } = data;
  const heads = [
    { label: 'Month' },
    { label: 'Credits', number: true },
    { label: 'Change', number: true, wide: money.length > 0 },
    { label: 'Requests', number: true, wide: true },
    ...money.map(({ currency }) => ({ label: currency, number: true })),
  ];
  return (
    <Card title="Months">
      <Table label="Months" heads={heads} stacked>
        {months
          .map((month, at) => (
            <tr key={month}>
              <th scope="row">
                <a
                  href={linkTo(tenantLink(workspaceId, tenantId), { period: month })}
                  {...(month === period ? { 'aria-current': 'true' as const } : {})}
                >
                  {monthName(month)}
                </a>
              </th>
              <td class="number" data-label="Credits">
                {formatInteger(credits[at] ?? 0n)}
              </td>
              <td class={money.length > 0 ? 'number wide-only' : 'number'} data-label="Change">
                {month === openMonth ? <span class="quiet">to date</span> : changeAt(credits, at)}
              </td>
              <td class="number wide-only">{formatInteger(requests[at] ?? 0n)}</td>
              {money.map(({ currency, amounts }) => (
                <td key={currency} class="number" data-label={currency}>
                  {monthAmountText(amounts[at] ?? 0n, currency)}
                </td>
              ))}
            </tr>
          ))
          .reverse()}
      </Table>
    </Card>
  );
}

function changeAt(credits: readonly bigint[], at: number): string {
  return at === 0 ? '' : (changeText(credits[at] ?? 0n, credits[at - 1] ?? 0n) ?? '');
}

function monthAmountText(amountMinor: bigint, currency: string): string {
  return moneyText({ amount: formatMinor(amountMinor, currency), currency }).replace(` ${currency}`, '');
}

function Lines({ data: { lines, period } }: { data: TenantPageData }) {
  const heads = [
    { label: 'Line' },
    { label: 'Credits', number: true },
    { label: 'Amount', number: true },
    { label: 'Rate card' },
  ];
  return (
    <Card title="Charges" note={monthName(period)}>
      {lines.length === 0 ? (
        <Empty>No charges in this month.</Empty>
      ) : (
        <Table label="Charges" heads={heads} stacked>
          {lines.map(({ kind, credits, amount, currency, card }, at) => (
            <tr key={`${at} ${kind}`}>
              <th scope="row">{kind}</th>
              <td class="number" data-label="Credits">
                {credits === null ? '' : formatInteger(credits)}
              </td>
              <td class="number" data-label="Amount">
                {amount === null ? 'no price' : moneyText({ amount: formatMinor(amount, currency), currency })}
              </td>
              <td data-label="Rate card">{card}</td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

function TenantEntries({ data: { entries } }: { data: TenantPageData }) {
  const heads = [
    { label: 'Recorded' },
    { label: 'Month' },
    { label: 'Kind' },
    { label: 'Credits', number: true },
    { label: 'After', number: true },
  ];
  return (
    <Card title="Latest ledger entries" note={`${entries.length} entries`}>
      <Table label="Latest ledger entries" heads={heads} stacked>
        {entries.map(({ at, period, kind, delta, after }, index) => (
          <tr key={`${index} ${at}`}>
            <td>
              <Time at={at === '' ? null : at} />
            </td>
            <td>{period}</td>
            <td>{kind}</td>
            <td class="number" data-label="Credits">
              {formatSigned(delta)}
            </td>
            <td class="number" data-label="After">
              {formatInteger(after)}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Documents({ data: { workspaceId, tenantId, period } }: { data: TenantPageData }) {
  const place = { workspace: workspaceId, tenant: tenantId };
  return (
    <Card title="Documents" note={monthName(period)}>
      <ul class="links">
        <li>
          <a href={linkTo('/report/tenant', { ...place, period })}>Report to print</a>
        </li>
        <li>
          Statement: <StatementLinks workspace={workspaceId} tenant={tenantId} period={period} />
        </li>
        <li>
          <a href={linkTo('/api/v1/usage', place)} download="usage.json">
            Usage of all months (JSON)
          </a>
        </li>
      </ul>
    </Card>
  );
}

function Alerts({ alerts }: { alerts: readonly ListedAlert[] }) {
  return (
    <Card title="Alerts">
      {alerts.length === 0 ? (
        <Empty>No alerts.</Empty>
      ) : (
        <ul class="todo">
          {alerts.map((alert) => (
            <li key={alert.alert_id}>
              <span>
                <SeverityBadge severity={alert.severity} />
              </span>
              <a href={alertLink(alert.alert_id)}>
                {ruleLabel(alert.rule)}
                {alert.period === null ? '' : `, ${monthName(alert.period)}`}
              </a>
              <span>
                <StateBadge alert={{ ...alert, muted_because: null }} />
              </span>
              {alert.muted_because === null ? null : <p>{mutedWords(alert.muted_because)}</p>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Corrections({ data: { adjustments } }: { data: TenantPageData }) {
  if (adjustments.length === 0) return null;
  const heads = [{ label: 'Corrects' }, { label: 'Credits', number: true }];
  return (
    <Card title="Corrections booked in this month">
      <Table label="Corrections" heads={heads}>
        {adjustments.map(({ corrects, credits, at }) => (
          <tr key={`${corrects} ${at}`}>
            <th scope="row">{monthName(corrects)}</th>
            <td class="number">{formatSigned(credits)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
