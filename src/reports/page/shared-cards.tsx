import { formatLocalTime, localDay } from '../../core/time-zone.ts';
import { Card, type Cell, Empty, FigureTable } from '../../look/parts.tsx';
import { amountCell } from './amount-cell.ts';
import { ChartCard } from './chart-card.tsx';
import type { Drawing } from './draw-charts.ts';
import type { PageAlerts, PageOrigin } from './origin-and-alerts.ts';
import type { PageData } from './page-data.ts';

/** The addresses of other reports to link to. A report that is written to a file has no such links. */
export interface PageLinks {
  tenant(tenantId: string): string;
  workspace: string;
}

export function MoneyCards({
  data,
  drawings,
}: {
  data: Pick<PageData, 'months' | 'money'>;
  drawings: readonly Drawing[];
}) {
  return data.money.map(({ currency, amounts }, at) => {
    const drawing = drawings[at];
    const rows = data.months.map((month, index): Cell[] => [month, amountCell(amounts[index] ?? 0n, currency)]);
    const title = `${currency} by month`;
    return drawing === undefined ? null : (
      <ChartCard key={currency} title={title} drawing={drawing} ofMonths heads={['Month', currency]} rows={rows} />
    );
  });
}

export function PaceCard({ days, drawing }: { days: PageData['days']; drawing: Drawing | null }) {
  if (drawing === null) return null;
  const hasBefore = drawing.series.length > 1;
  const rows = days.map(({ day, current, previous }): Cell[] => [
    String(day),
    current,
    ...(hasBefore ? [previous] : []),
  ]);
  return <ChartCard title="Credits to date" drawing={drawing} heads={['Day', ...drawing.series]} rows={rows} />;
}

/** The number of alerts that are visible at first. Further alerts are in a section that the reader can open. */
const ALERTS_AT_A_GLANCE = 5;

export function AlertsCard({ alerts, moreAlerts, timezone }: PageAlerts & Pick<PageData, 'timezone'>) {
  const others = alerts.slice(ALERTS_AT_A_GLANCE);
  const count = others.length + moreAlerts;
  return (
    <Card title="Open alerts">
      {alerts.length === 0 ? (
        <Empty>No open alerts.</Empty>
      ) : (
        <div class="inside">
          <AlertList alerts={alerts.slice(0, ALERTS_AT_A_GLANCE)} more={0} timezone={timezone} />
          {count === 0 ? null : (
            <details>
              <summary>{count} more</summary>
              <AlertList alerts={others} more={moreAlerts} timezone={timezone} />
            </details>
          )}
        </div>
      )}
    </Card>
  );
}

function AlertList({ alerts, more, timezone }: Pick<PageAlerts, 'alerts'> & { more: number; timezone: string }) {
  return (
    <ul>
      {alerts.map(({ severity, state, since, muted, summary }, at) => {
        const notes = [
          since === null ? '' : `since ${localDay(since, timezone)}`,
          state === 'acknowledged' ? state : '',
          muted ?? '',
        ];
        return (
          <li key={at}>
            <strong>{severity}</strong>: {summary}{' '}
            <span class="quiet small">{notes.filter((note) => note !== '').join(', ')}</span>
          </li>
        );
      })}
      {more === 0 ? null : (
        <li>
          and {more} more: see <code>usage-ledger alerts</code>
        </li>
      )}
    </ul>
  );
}

export function AdjustmentsCard({ adjustments, timezone }: Pick<PageData, 'adjustments' | 'timezone'>) {
  const rows = adjustments.map(({ name, corrects, credits, at }): Cell[] => [
    name,
    corrects,
    credits,
    formatLocalTime(at, timezone),
  ]);
  return (
    <Card title="Adjustments">
      {rows.length === 0 ? (
        <Empty>No adjustments in this month.</Empty>
      ) : (
        <FigureTable label="Adjustments" heads={['Tenant', 'Corrects', 'Credits', 'Recorded']} rows={rows} isStacked />
      )}
    </Card>
  );
}

/** Renders the source of the figures: the run, and the last link of the chain with its digest. */
export function Origin({ runId, head }: PageOrigin) {
  const run = runId === null ? 'Created before the first run' : `Created from run ${runId}`;
  return (
    <p class="quiet small">
      {run}; ledger head {head.digest} (link {head.seq})
    </p>
  );
}
