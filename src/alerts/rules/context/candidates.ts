import { oncePerKey } from '../../../core/one-at-a-time.ts';
import type { EntryRange } from '../../../ledger/journal/runs/merge-staged.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';
import { perConnection, preparedSql } from '../../../ledger/store/schema/drizzle.ts';
import { toUsageFigures } from '../../figures/usage-figures.ts';
import type { PeriodFacts } from './period-facts.ts';
import type { RuleContext, TenantFacts } from './rule-context.ts';

/** How a run evaluates a period. */
export interface PeriodLook {
  facts: PeriodFacts;
  /**
   * True: evaluate all tenants. False: evaluate only tenants whose figures this run changed, in the period or in the
   * previous period.
   */
  all: boolean;
  /** True if this run is the first to find the period settled. */
  settlesNow: boolean;
  /**
   * True if the period had settled before this run. Its late changes are notified as a restatement, and may also be a
   * jump.
   */
  isLate: boolean;
}

/** A SQL condition on a tenant's figures in a period (`cur`) and in the previous one (`prev`), with its parameters. */
export interface Conditions {
  where: string;
  values: Readonly<Record<string, number | bigint>>;
}

/**
 * Factor for limits in SQL filters. Ratios are doubles there, and a rounded limit must not leave out a tenant for which
 * the exact rule holds.
 */
export const SLACK = 0.999999;

const NONE: EntryRange = { after: 0, last: 0 };
const ENTERED =
  'SELECT tenant_key FROM usage_entries WHERE entry_id > @after AND entry_id <= @last AND +period_key = @period';
/** SQL query for the tenants whose figures in the previous period this run changed. */
export const ENTERED_BEFORE = `SELECT tenant_key FROM usage_entries
   WHERE entry_id > @afterBefore AND entry_id <= @lastBefore AND +period_key = @period - 1`;

/** Returns the SQL parameters for the entries of this run in a period and in the previous one. */
export function changedEntryRanges({ merged }: RuleContext, periodKey: number) {
  const [own, before] = [merged.changed.get(periodKey) ?? NONE, merged.changed.get(periodKey - 1) ?? NONE];
  return { period: periodKey, after: own.after, last: own.last, afterBefore: before.after, lastBefore: before.last };
}

export interface CandidateTenant {
  tenant: TenantFacts;
  /** For each condition: true if the tenant fits it. */
  fits: boolean[];
}

/** The SQL text depends on the rules in use, so there are only a few texts to prepare. */
const selectCandidates = perConnection((connection) =>
  oncePerKey((text: string) => connection.prepare(text).safeIntegers().raw()),
);

/**
 * Returns the tenants of a period that fit at least one condition. SQLite filters out almost all tenants, so that the
 * exact rules judge only a few.
 */
export function findCandidates(
  context: RuleContext,
  { facts: { periodKey }, all }: PeriodLook,
  conditions: readonly Conditions[],
): CandidateTenant[] {
  if (conditions.length === 0) return [];
  const { connection, merged } = context;
  const entered = changedEntryRanges(context, periodKey);
  const values = { ...entered, run: merged.run.runKey, ...Object.assign({}, ...conditions.map((each) => each.values)) };
  const few = !all && !isMost(connection, entered);
  const source = few
    ? `(${ENTERED} UNION ${ENTERED_BEFORE}) e CROSS JOIN tenant_usage cur ON cur.tenant_key = e.tenant_key`
    : 'tenant_usage cur';
  const select = selectCandidates(connection)(
    `SELECT cur.tenant_key, cur.credits_used, cur.request_count, prev.credits_used, prev.request_count,
         ${conditions.map(({ where }) => `(${where})`).join(', ')}
       FROM ${source}
       LEFT JOIN tenant_usage prev ON prev.period_key = @period - 1 AND prev.tenant_key = cur.tenant_key
       WHERE cur.period_key = @period AND cur.withdrawn = 0
         ${all || few ? '' : 'AND (cur.changed_run_key = @run OR prev.changed_run_key = @run)'}
         AND (${conditions.map(({ where }) => `(${where})`).join(' OR ')})`,
  );
  const rows = select.all(values) as [bigint, bigint, bigint, bigint | null, bigint | null, ...(bigint | null)[]][];
  return rows.map(([tenantKey, credits, requests, creditsBefore, requestsBefore, ...fits]) => ({
    tenant: {
      periodKey,
      tenantKey: Number(tenantKey),
      withdrawn: false,
      current: { credits, requests },
      previous: toUsageFigures(creditsBefore, requestsBefore),
    },
    fits: fits.map((fit) => fit === 1n),
  }));
}

const countTenants = preparedSql(
  'SELECT count(*) FROM (SELECT 1 FROM tenant_usage WHERE period_key = ? LIMIT ?)',
  'pluck',
);

/** Reports whether it is faster to read all tenants of a period than to look up each changed tenant. */
function isMost(connection: LedgerDb, entered: ReturnType<typeof changedEntryRanges>): boolean {
  const { period, after, last, afterBefore, lastBefore } = entered;
  const enough = 2 * (last - after + lastBefore - afterBefore);
  return (countTenants(connection).get(period, enough) as number) < enough;
}
