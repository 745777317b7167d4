import { periodAt } from '../../core/period.ts';
import { UTC } from '../../core/time-zone.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { tenantNameReader } from '../../ledger/store/tenant-names.ts';
import { tenantEntries } from '../queries/tenants.ts';
import { openAlerts, readOrigin } from './origin-and-alerts.ts';
import { type PageData, type PageRequest, SHOWN_MONTHS } from './page-data.ts';

const TENANT_PAGE_ROWS = 20;

export interface TenantPageData
  extends Pick<
    PageData,
    'workspaceId' | 'period' | 'timezone' | 'months' | 'money' | 'days' | 'alerts' | 'moreAlerts' | 'origin'
  > {
  tenantId: string;
  name: string;
  externalRef: string | null;
  labels: Record<string, string>;
  credits: bigint[];
  requests: bigint[];
  state: string;
  withdrawn: boolean;
  lines: { kind: string; credits: bigint | null; amount: bigint | null; currency: string; card: string }[];
  adjustments: PageData['adjustments'];
  /** The tenant's recorded changes, the latest first. */
  entries: { at: string; period: string; kind: string; delta: bigint; after: bigint }[];
}

interface TenantMonthRow {
  period: string;
  credits_used: bigint;
  request_count: bigint;
  state: string;
  withdrawn: bigint;
}

/**
 * Reads the data of a tenant's page. Returns null if the ledger has no data for the tenant. The caller must hold a read
 * transaction.
 */
export function readTenantPage(
  connection: LedgerDb,
  { workspaceId, tenantId, period: wanted, nowMs, timezone = UTC }: Omit<PageRequest, 'budgets'> & { tenantId: string },
): TenantPageData | null {
  const all = <Row>(sql: string, ...values: unknown[]): Row[] =>
    connection
      .prepare(sql)
      .safeIntegers()
      .all(workspaceId, tenantId, ...values) as Row[];
  const found = all<TenantMonthRow>(
    `SELECT period, credits_used, request_count, state, withdrawn FROM finance_usage
     WHERE workspace_id = ? AND tenant_id = ? AND period <= ? ORDER BY period DESC LIMIT ${SHOWN_MONTHS}`,
    wanted ?? periodAt(nowMs),
  ).reverse();
  const last = found.at(-1);
  if (last === undefined || (wanted !== undefined && last.period !== wanted)) return null;
  const { period, state } = last;
  const months = found.map((row) => row.period);
  const name = tenantNameReader(connection, workspaceId)(tenantId) ?? tenantId;
  const [tenant] = all<{ external_ref: string | null; labels: string | null }>(
    'SELECT external_ref, labels FROM finance_tenants WHERE workspace_id = ? AND tenant_id = ?',
  );
  const charges = months.flatMap((month) =>
    all<{ period: string; currency: string; amount: bigint | null }>(
      `SELECT period, currency, amount_minor AS amount FROM finance_charges
       WHERE workspace_id = ? AND tenant_id = ? AND period = ?`,
      month,
    ),
  );
  const amountOf = (month: string, currency: string): bigint =>
    charges.find((row) => row.period === month && row.currency === currency)?.amount ?? 0n;
  const byDay = (month: string | undefined) => (month === undefined ? [] : tenantDays(all, month));
  const [current, previous] = [byDay(period), byDay(months.at(-2))];
  return {
    workspaceId,
    timezone,
    tenantId,
    name,
    period,
    state,
    months,
    origin: readOrigin(connection, workspaceId),
    externalRef: tenant?.external_ref ?? null,
    labels: JSON.parse(tenant?.labels ?? '{}') as Record<string, string>,
    withdrawn: last.withdrawn === 1n,
    credits: found.map((row) => row.credits_used),
    requests: found.map((row) => row.request_count),
    money: [...new Set(charges.map(({ currency }) => currency))].sort().map((currency) => ({
      currency,
      amounts: months.map((month) => amountOf(month, currency)),
    })),
    days: Array.from({ length: 31 }, (_, at) => ({
      day: at + 1,
      current: current[at] ?? null,
      previous: previous[at] ?? null,
    })).filter((row) => row.current !== null || row.previous !== null),
    lines: all(
      `SELECT kind || coalesce(', tier ' || tier, '') || coalesce(' of ' || corrects_period, '') || coalesce(': ' || reason, '') AS kind, credits,
         amount_minor AS amount, currency, rate_card AS card
       FROM finance_charge_lines WHERE workspace_id = ? AND tenant_id = ? AND period = ? ORDER BY line_number NULLS LAST`,
      period,
    ),
    ...openAlerts(connection, { workspaceId, tenantId, nowMs, timezone }, TENANT_PAGE_ROWS),
    adjustments: all<{ corrects: string; credits: bigint; at: string }>(
      `SELECT corrects_period AS corrects, credits_delta AS credits, recorded_at AS at FROM finance_adjustments
       WHERE workspace_id = ? AND tenant_id = ? AND booked_period = ? ORDER BY recorded_at DESC LIMIT ${TENANT_PAGE_ROWS}`,
      period,
    ).map((adjustment) => ({ ...adjustment, name })),
    entries: tenantEntries(connection, workspaceId, tenantId)
      .slice(-TENANT_PAGE_ROWS)
      .reverse()
      .map(({ recorded_at, period: of, kind, credits_delta, credits_after }) => ({
        at: recorded_at ?? '',
        period: of,
        kind: kind ?? '',
        delta: credits_delta,
        after: credits_after,
      })),
  };
}

/**
 * Returns the tenant's credits of the month at the end of each day. Index 0 is the first day of the month. A value is
 * null before the first reading.
 */
function tenantDays(all: <Row>(sql: string, ...values: unknown[]) => Row[], month: string): (bigint | null)[] {
  const rows = all<{ day: string; credits: bigint }>(
    `SELECT day, credits_used AS credits FROM finance_daily
     WHERE workspace_id = ? AND tenant_id = ? AND period = ? ORDER BY day`,
    month,
  );
  const days: (bigint | null)[] = [];
  const latest = rows.at(-1)?.day ?? '';
  for (let day = 1; day <= 31; day += 1) {
    const date = `${month}-${String(day).padStart(2, '0')}`;
    if (date > latest) break;
    days.push(rows.filter((row) => row.day <= date).at(-1)?.credits ?? null);
  }
  return days;
}
