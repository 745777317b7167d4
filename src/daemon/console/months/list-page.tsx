import type { MonthSummary } from '../../../operations/months/list-months.ts';
import { formatDecimal, formatInteger } from '../../../reports/formats/columns.ts';
import { changeText, moneyText, monthName } from '../shell/formats.ts';
import { Layout } from '../shell/layout.tsx';
import { Badge, Empty, Table } from '../shell/parts.tsx';
import type { Visit } from '../shell/visit.ts';

interface MonthListProps {
  visit: Visit;
  /** The months, the latest first. The last one is not shown; the month after it is only compared with it. */
  months: readonly MonthSummary[];
  openMonth: string;
  /** The address of the page with earlier months; null if there are none. */
  earlier: string | null;
}

/** The page with the list of months. It answers: which months are closed, and how do their totals compare? */
export function MonthListPage({ visit, months, openMonth, earlier }: MonthListProps) {
  const currencies = [...new Set(months.flatMap(({ amounts }) => amounts.map(({ currency }) => currency)))].sort();
  const only = currencies.length === 1 ? (currencies[0] ?? null) : null;
  const heads = [
    { label: 'Month' },
    { label: 'State' },
    { label: 'Tenants', number: true, wide: true },
    { label: 'Credits', number: true, wide: currencies.length > 0 },
    ...(currencies.length === 0 ? [] : [{ label: only ?? 'Amount', number: true }]),
  ];
  const shown = earlier === null ? months : months.slice(0, -1);
  return (
    <Layout visit={visit} place="months" title="Months">
      <div class="head">
        <h1>Months</h1>
      </div>
      <div class="card">
        {shown.length === 0 ? (
          <Empty>The ledger has no months yet: they come with the first sync that reads usage.</Empty>
        ) : (
          <Table label="Months" heads={heads} stacked>
            {shown.map((month, at) => (
              <MonthRow
                key={month.period}
                month={month}
                before={months[at + 1]}
                hasMoney={currencies.length > 0}
                only={only}
                isOpen={month.period >= openMonth}
              />
            ))}
          </Table>
        )}
        {earlier === null ? null : (
          <nav class="pages" aria-label="Pages">
            <a href={earlier} rel="next">
              Earlier months
            </a>
          </nav>
        )}
      </div>
    </Layout>
  );
}

function MonthRow({
  month,
  before,
  hasMoney,
  only,
  isOpen,
}: {
  month: MonthSummary;
  before: MonthSummary | undefined;
  hasMoney: boolean;
  /** The currency, if all months have the same one; null if there are several. */
  only: string | null;
  isOpen: boolean;
}) {
  const { period, workspaces, closed, tenants, credits_used, amounts } = month;
  const state = isOpen ? 'open' : closed === workspaces ? 'closed' : `${closed} of ${workspaces} closed`;
  const change = (now: bigint, previous: bigint | undefined): string | null =>
    isOpen || previous === undefined ? null : changeText(now, previous);
  return (
    <tr>
      <th scope="row">
        <a href={`/months/${period}`}>{monthName(period)}</a>
      </th>
      <td>
        <Badge tone={isOpen ? 'quiet' : closed === workspaces ? 'good' : 'odd'}>{state}</Badge>
      </td>
      <td class="number wide-only">{formatInteger(tenants)}</td>
      <td class={hasMoney ? 'number wide-only' : 'number'} data-label="Credits">
        {formatInteger(credits_used)}
        <small>{change(credits_used, before?.credits_used)}</small>
      </td>
      {hasMoney ? (
        <td class="number" data-label={only ?? undefined}>
          {amounts.map((sum) => {
            const previous = before?.amounts.find(({ currency }) => currency === sum.currency)?.amount_minor;
            return (
              <div key={sum.currency}>
                {only === null ? moneyText(sum) : formatDecimal(sum.amount)}
                <div class="small quiet">{change(sum.amount_minor, previous)}</div>
              </div>
            );
          })}
        </td>
      ) : null}
    </tr>
  );
}
