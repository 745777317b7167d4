import { BudgetTable, budgetUse } from '../../alerts/rules/budget/budget-table.ts';
import type { Budget } from '../../config/types.ts';
import { addPeriods, type Period, periodAt, periodRange } from '../../core/period.ts';
import { UTC } from '../../core/time-zone.ts';
import { creditPricer, forecastMonth, type MonthForecast } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { periodEvents } from '../../ledger/store/schema/billing-tables.ts';
import { eq, query } from '../../ledger/store/schema/drizzle.ts';
import { findPeriod, findWorkspace } from '../../ledger/store/subjects.ts';
import { moneySumReader } from '../../ledger/store/sum-money.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';
import { tenantNameReader } from '../../ledger/store/tenant-names.ts';
import { recordedUsage } from '../queries/usage.ts';
import { type PageMargins, readMargins } from './margins.ts';
import { openAlerts, type PageAlerts, type PageOrigin, readOrigin } from './origin-and-alerts.ts';

export const SHOWN_MONTHS = 12;
/** The number of tenants that have a colour of their own in the chart. All other tenants are shown as one sum. */
const TOP_TENANTS = 5;
/** The maximum number of rows in each table, so that the page stays small even for a large ledger. */
const PAGE_ROWS = 20;

export interface PageTenant {
  tenantId: string;
  name: string;
  /** The tenant's credits in each month, in the order of `months`; 0 in a month without a record. */
  credits: bigint[];
}

export interface PageMove {
  tenantId: string;
  name: string;
  credits: bigint;
  previous: bigint | null;
  change: bigint;
}

export interface PageRequest {
  workspaceId: string;
  period?: string | undefined;
  nowMs: number;
  /** The IANA time zone of the times on the page; default: UTC. Months and days of usage are always in UTC. */
  timezone?: string;
  budgets: readonly Budget[];
}

export interface PageData extends PageAlerts {
  workspaceId: string;
  workspaceName: string;
  period: string;
  state: string;
  timezone: string;
  asOf: string | null;
  complete: boolean;
  origin: PageOrigin;
  /** The consecutive months that the page shows. A month without data has 0 in every list of figures by month. */
  months: string[];
  totals: bigint[];
  tenantCounts: number[];
  /** The tenants with the most credits in the period. `others` is the sum of all other tenants' credits, by month. */
  top: PageTenant[];
  others: bigint[];
  /** The charged amounts in minor units: for each currency, one amount for each of the `months`. */
  money: { currency: string; amounts: bigint[] }[];
  /** The forecast for an open month; null if there is no forecast. */
  forecast: MonthForecast | null;
  movers: PageMove[];
  /**
   * What the credits of `movers` are compared with: the previous month up to the same time, or the whole previous
   * month.
   */
  movedSince: 'same point' | 'month';
  /**
   * The use of the budgets: first that of the workspace's budget, then those of the tenants' budgets, the highest used
   * share first.
   */
  budgets: PageBudget[];
  /**
   * The credits of the month to date at the end of each day, in the period and in the previous month; null for a day
   * without a reading.
   */
  days: { day: number; current: bigint | null; previous: bigint | null }[];
  tenants: PageTenant[];
  margins: PageMargins;
  adjustments: { name: string; corrects: string; credits: bigint; at: string }[];
}

const NO_TOTALS = { tenants: 0, credits: 0n };

interface WorkspaceMonthRow {
  period: string;
  period_key: bigint;
  closed_seq: bigint | null;
  state: string;
  complete: bigint;
  as_of: string | null;
}

/**
 * Reads the data of a workspace's page. Returns null if the ledger has no data for the period. The caller must hold a
 * read transaction.
 */
export function readPageData(
  connection: LedgerDb,
  { workspaceId, period: wanted, nowMs, timezone = UTC, budgets }: PageRequest,
): PageData | null {
  const all = <Row>(sql: string, ...values: unknown[]): Row[] =>
    connection
      .prepare(sql)
      .safeIntegers()
      .all(...values) as Row[];
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace === undefined) return null;
  // With this join, SQLite reads each month once. Without it, the view would read a month once for each figure.
  const found = all<WorkspaceMonthRow>(
    `SELECT v.period, p.period_key, p.closed_seq, v.state, v.complete, v.as_of
     FROM finance_period_totals v JOIN periods p ON p.period = v.period AND p.workspace_key = ?
     WHERE v.workspace_id = ? AND v.period <= ? ORDER BY v.period DESC LIMIT ${SHOWN_MONTHS}`,
    workspace.workspaceKey,
    workspaceId,
    wanted ?? periodAt(nowMs),
  ).reverse();
  const last = found.at(-1);
  if (last === undefined || (wanted !== undefined && last.period !== wanted)) return null;
  const { period } = last;
  const first = addPeriods(period, 1 - SHOWN_MONTHS);
  const months = periodRange(found.map((row) => row.period).find((month) => month >= first) ?? period, period);
  const rows = months.map((month) => found.find((row) => row.period === month) ?? null);
  const readName = tenantNameReader(connection, workspaceId);
  const nameOf = (tenantId: string | null): string =>
    tenantId === null ? workspace.name : (readName(tenantId) ?? tenantId);

  const tenantUsage = connection
    .prepare('SELECT period, credits_used FROM finance_usage WHERE workspace_id = ? AND tenant_id = ?')
    .safeIntegers();
  const tenants = largestTenants(connection, last, PAGE_ROWS).map((tenantId): PageTenant => {
    const used = tenantUsage.all(workspaceId, tenantId) as { period: string; credits_used: bigint }[];
    const by = new Map(used.map((row) => [row.period, row.credits_used]));
    return { tenantId, name: nameOf(tenantId), credits: months.map((month) => by.get(month) ?? 0n) };
  });
  const top = tenants.slice(0, TOP_TENANTS);
  const figures = rows.map((row) => (row === null ? NO_TOTALS : monthFigures(connection, row)));
  const totals = figures.map(({ credits }) => credits);
  const { state, as_of: asOf } = last;
  const toDate = state === 'open' ? movesToDate(connection, { workspaceId, period }, PAGE_ROWS / 2) : [];
  const moves = toDate.length > 0 ? toDate : largestMoves(connection, last, PAGE_ROWS / 2);
  const key = { workspaceId, period, periodKey: last.period_key };
  return {
    workspaceId,
    workspaceName: workspace.name,
    period,
    state,
    timezone,
    asOf,
    complete: last.complete === 1n,
    origin: readOrigin(connection, workspaceId),
    months,
    totals,
    tenantCounts: figures.map(({ tenants: count }) => count),
    top,
    others: totals.map((total, at) => top.reduce((rest, tenant) => rest - (tenant.credits[at] ?? 0n), total)),
    money: moneyByMonth(connection, rows),
    forecast: state === 'open' ? forecastMonth(connection, { ...key, asOf }) : null,
    movedSince: toDate.length > 0 ? 'same point' : 'month',
    movers: moves.map((move) => ({ ...move, name: nameOf(move.tenantId) })),
    budgets: budgetUses(connection, budgets, {
      workspaceId,
      period,
      total: totals.at(-1) ?? 0n,
      limit: PAGE_ROWS,
      nameOf,
    }),
    days: dailyCredits(connection, last, rows.at(-2) ?? null),
    tenants,
    ...openAlerts(connection, { workspaceId, nowMs, timezone }, PAGE_ROWS),
    margins: readMargins(connection, { workspaceId, period, limit: PAGE_ROWS / 2, nameOf }),
    adjustments: all<{ tenant_id: string; corrects: string; credits: bigint; at: string }>(
      `SELECT tenant_id, corrects_period AS corrects, credits_delta AS credits, recorded_at AS at
       FROM finance_adjustments WHERE workspace_id = ? AND booked_period = ?
       ORDER BY abs(credits_delta) DESC, tenant_id LIMIT ${PAGE_ROWS}`,
      workspaceId,
      period,
    ).map(({ tenant_id, ...adjustment }) => ({ ...adjustment, name: nameOf(tenant_id) })),
  };
}

function moneyByMonth(connection: LedgerDb, months: readonly (WorkspaceMonthRow | null)[]): PageData['money'] {
  const sumsOf = moneySumReader(connection);
  const sums = months.map((month) => (month === null ? [] : sumsOf(month.period_key)));
  const currencies = [...new Set(sums.flat().map(({ currency }) => currency))].sort();
  return currencies.map((currency) => {
    const amounts = sums.map((month) => month.find((sum) => sum.currency === currency)?.amountMinor ?? 0n);
    return { currency, amounts };
  });
}

function dailyCredits(
  connection: LedgerDb,
  last: WorkspaceMonthRow,
  before: WorkspaceMonthRow | null,
): PageData['days'] {
  const seriesOf = (month: WorkspaceMonthRow | null): (bigint | null)[] => {
    const days: (bigint | null)[] = Array.from({ length: 31 }, () => null);
    if (month === null) return days;
    const rows = creditsByDay(connection, month);
    let reached: bigint | null = null;
    for (let day = 1; day <= 31; day += 1) {
      const date = `${month.period}-${String(day).padStart(2, '0')}`;
      if (rows.length === 0 || date > (month.as_of ?? '').slice(0, 10)) break;
      const until = rows.filter((row) => row.day <= date);
      if (until.length > 0) reached = until.reduce((sum, row) => sum + row.credits, 0n);
      days[day - 1] = reached;
    }
    return days;
  };
  const [current, previous] = [seriesOf(last), seriesOf(before)];
  return current
    .map((value, at) => ({ day: at + 1, current: value, previous: previous[at] ?? null }))
    .filter((row) => row.current !== null || row.previous !== null);
}

interface PageBudget {
  name: string;
  credits: bigint;
  used: bigint;
}

interface BudgetRequest {
  workspaceId: string;
  period: Period;
  total: bigint;
  limit: number;
  nameOf: (tenantId: string | null) => string;
}

function budgetUses(
  connection: LedgerDb,
  budgets: readonly Budget[],
  { workspaceId, period, total, limit, nameOf }: BudgetRequest,
): PageBudget[] {
  const table = new BudgetTable(budgets);
  const whole = table.ofWorkspace()?.credits ?? null;
  const found: PageBudget[] = whole === null ? [] : [{ name: nameOf(null), credits: whole, used: total }];
  if (budgets.every(({ tenant }) => tenant === null)) return found;
  const priceOf = creditPricer(connection, workspaceId);
  const ofTenants: { tenantId: string; credits: bigint; used: bigint }[] = [];
  for (const { tenantId, credits: used, requests } of recordedUsage(connection, { workspaceId, period })) {
    const budget = table.ofTenant(tenantId);
    const use = budget && budgetUse(budget, used, (credits) => priceOf(tenantId, period, credits, requests));
    if (use !== null) ofTenants.push({ tenantId, credits: use.limit, used });
  }
  // Compares the used shares of two budgets exactly: a/b < c/d is the same as a*d < c*b.
  ofTenants.sort((a, b) => Number(b.used * a.credits - a.used * b.credits) || (a.tenantId < b.tenantId ? -1 : 1));
  return [
    ...found,
    ...ofTenants.slice(0, limit).map(({ tenantId, credits, used }) => ({ name: nameOf(tenantId), credits, used })),
  ];
}

/** A month of a workspace. A closed month has the figures of its close. */
export interface MonthKey {
  period_key: bigint;
  closed_seq: bigint | null;
}

interface TenantMove {
  tenantId: string;
  credits: bigint;
  previous: bigint | null;
  change: bigint;
}

function usageTable(closedSeq: bigint | number | null | undefined): 'tenant_usage' | 'closed_usage' {
  return closedSeq === null || closedSeq === undefined ? 'tenant_usage' : 'closed_usage';
}

/**
 * Returns a month's figures as in `finance_period_totals`: the number of tenants that are not withdrawn, and the
 * credits of all tenants.
 */
export function monthFigures(
  connection: LedgerDb,
  { period_key, closed_seq }: MonthKey,
): { tenants: number; credits: bigint } {
  const close =
    closed_seq === null
      ? undefined
      : query(connection)
          .select()
          .from(periodEvents)
          .where(eq(periodEvents.eventSeq, Number(closed_seq)))
          .get();
  const { tenants, creditsUsed } = close ?? sumUsage(connection, Number(period_key));
  return { tenants, credits: creditsUsed };
}

/**
 * Returns the ids of the tenants with the most credits in a month. Of two tenants with equal credits, the one that the
 * ledger has known for longer is first.
 */
export function largestTenants(connection: LedgerDb, { period_key, closed_seq }: MonthKey, limit: number): string[] {
  // Applies the limit before the ids are looked up, because a month may have a million tenants.
  return connection
    .prepare(
      `SELECT t.tenant_id FROM (
         SELECT tenant_key, credits_used FROM ${usageTable(closed_seq)} WHERE period_key = ? AND withdrawn = 0
         ORDER BY credits_used DESC, tenant_key LIMIT ?) u
       JOIN tenants t USING (tenant_key) ORDER BY u.credits_used DESC, u.tenant_key`,
    )
    .pluck()
    .all(period_key, limit) as string[];
}

/**
 * Returns the tenants with the largest change of credits since the previous month, in the order of
 * `finance_period_changes`.
 */
export function largestMoves(connection: LedgerDb, { period_key, closed_seq }: MonthKey, limit: number): TenantMove[] {
  const before = findPeriod(connection, Number(period_key) - 1)?.closedSeq;
  return connection
    .prepare(
      `SELECT t.tenant_id AS tenantId, m.credits, m.previous, m.change FROM (
         SELECT u.tenant_key AS tenant_key, u.credits_used AS credits, v.credits_used AS previous,
           u.credits_used - coalesce(v.credits_used, 0) AS change,
           abs(u.credits_used - coalesce(v.credits_used, 0)) AS size
         FROM ${usageTable(closed_seq)} u
         LEFT JOIN ${usageTable(before)} v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
         WHERE u.period_key = :period_key
         UNION ALL
         SELECT v.tenant_key, 0, v.credits_used, -v.credits_used, abs(v.credits_used) FROM periods p
         JOIN ${usageTable(before)} v ON v.period_key = p.period_key - 1 AND v.withdrawn = 0
         LEFT JOIN ${usageTable(closed_seq)} u ON u.period_key = p.period_key AND u.tenant_key = v.tenant_key
         WHERE p.period_key = :period_key AND p.covered_run_key IS NOT NULL AND u.tenant_key IS NULL
         ORDER BY size DESC, tenant_key LIMIT :limit) m
       JOIN tenants t USING (tenant_key) ORDER BY m.size DESC, m.tenant_key`,
    )
    .safeIntegers()
    .all({ period_key, limit }) as TenantMove[];
}

/**
 * Returns the tenants of an open month with the largest change compared with the previous month up to the same time.
 * Returns none if the previous month has no reading at that time.
 */
function movesToDate(
  connection: LedgerDb,
  { workspaceId, period }: { workspaceId: string; period: string },
  limit: number,
): TenantMove[] {
  return connection
    .prepare(
      `SELECT tenant_id AS tenantId, credits_used AS credits, previous_credits_same_point AS previous, credits_change AS change
       FROM finance_month_to_date WHERE workspace_id = ? AND period = ? AND credits_change <> 0
       ORDER BY abs(credits_change) DESC, tenant_id LIMIT ?`,
    )
    .safeIntegers()
    .all(workspaceId, period, limit) as TenantMove[];
}

/**
 * Returns the credits that were added on each day of a workspace's month, with the day as `YYYY-MM-DD`. Days without a
 * change are left out.
 */
export function creditsByDay(
  connection: LedgerDb,
  { period, period_key }: MonthKey & { period: string },
): { day: string; credits: bigint }[] {
  // Reads all entries from the month's first run on, in stored order. Looking up the month's entries in their index
  // would take four times as long.
  return connection
    .prepare(
      `WITH first AS MATERIALIZED (
         SELECT workspace_key, run_key FROM runs WHERE run_key = (SELECT min(first_run_key) FROM tenant_usage WHERE period_key = :period_key))
       SELECT day, sum(credits) AS credits FROM (
         SELECT substr(r.finished_at, 1, 10) AS day, (
           SELECT sum(e.credits_delta) FROM usage_entries e
           WHERE e.entry_id BETWEEN r.first_entry_id AND r.first_entry_id + r.entries - 1
             AND +e.period_key = :period_key) AS credits
         FROM first f JOIN runs r ON r.workspace_key = f.workspace_key AND r.run_key >= f.run_key
         WHERE r.first_entry_id IS NOT NULL AND r.finished_at < :period || '-32')
       WHERE credits IS NOT NULL GROUP BY day ORDER BY day`,
    )
    .safeIntegers()
    .all({ period, period_key }) as { day: string; credits: bigint }[];
}
