import { oncePerKey } from '../../../core/one-at-a-time.ts';
import type { CreditPricer } from '../../../ledger/journal/charges/credit-pricer.ts';
import type { MergedRun } from '../../../ledger/journal/runs/apply-run.ts';
import { figuresReader } from '../../../ledger/store/key-figures.ts';
import type { LedgerDb } from '../../../ledger/store/ledger-db.ts';
import type { PastCreditsReader } from '../../figures/threshold.ts';
import type { UsageFigures } from '../../figures/usage-figures.ts';
import type { UsageForecast } from '../../forecast/forecast.ts';
import { forecastMonth } from '../../forecast/forecast-month.ts';
import { TenantSample } from '../../forecast/tenant-sample.ts';
import type { UsageHistory } from '../../forecast/usage-history.ts';
import type { PeriodFacts } from './period-facts.ts';
import type { TenantSettings } from './tenant-settings.ts';

export interface TenantFacts {
  periodKey: number;
  tenantKey: number;
  current: UsageFigures | null;
  previous: UsageFigures | null;
  withdrawn: boolean;
}

export interface RuleContextSources {
  merged: MergedRun;
  settings: TenantSettings;
  factsOf: (periodKey: number) => PeriodFacts;
  tenantId: (tenantKey: number) => string;
  usageHistory: UsageHistory;
  /** Null if no rate card exists. */
  priceOf: CreditPricer | null;
}

/** The sources and the shared queries of a run's rules. */
export interface RuleContext extends RuleContextSources {
  connection: LedgerDb;
  nowMs: number;
  read(periodKey: number, tenantKey: number): TenantFacts;
  /** Forecast of an open period for a tenant or the whole workspace; null if there is none. */
  monthForecast(periodKey: number, tenantKey: number | null): UsageForecast | null;
  /** Totals of the workspace in a period; `figures` is null without tenants. */
  total(periodKey: number): { figures: UsageFigures | null; tenants: number };
}

export function createRuleContext(sources: RuleContextSources): RuleContext {
  const { connection, nowMs } = sources.merged;
  const figures = figuresReader(connection);
  const monthForecasts = oncePerKey((periodKey: number) => {
    const sample = new TenantSample(sources.usageHistory, periodKey);
    return oncePerKey((tenantKey: number | null) =>
      forecastMonth(sources.usageHistory, { sample, periodKey, tenantKey }),
    );
  });
  return {
    ...sources,
    connection,
    nowMs,
    read(periodKey, tenantKey) {
      const current = figures(periodKey, tenantKey) ?? null;
      const previous = figures(periodKey - 1, tenantKey) ?? null;
      return { periodKey, tenantKey, current, previous, withdrawn: current?.withdrawn === true };
    },
    monthForecast(periodKey, tenantKey) {
      return monthForecasts(periodKey)(tenantKey);
    },
    total(periodKey) {
      const { tenants, creditsUsed: credits, requestCount: requests } = sources.usageHistory.sumOf(periodKey);
      return { figures: tenants === 0 ? null : { credits, requests }, tenants };
    },
  };
}

/** Returns a function that creates a value once for each run, when the value is first used. */
export function perRun<T extends object>(make: (context: RuleContext) => T): (context: RuleContext) => T {
  const made = new WeakMap<RuleContext, T>();
  return (context) => {
    const known = made.get(context) ?? make(context);
    made.set(context, known);
    return known;
  };
}

/** Returns a function that gives a tenant's credits a number of months before the period. */
export function historyOf(
  { connection }: RuleContext,
  { periodKey, tenantKey, previous }: TenantFacts,
): PastCreditsReader {
  const figures = figuresReader(connection);
  return (before) =>
    before === 1 ? (previous?.credits ?? null) : (figures(periodKey - before, tenantKey)?.credits ?? null);
}

/**
 * Reports whether the tenant's first period is earlier than the period `before` months ago. A first period is
 * probably incomplete, so it is no baseline.
 */
export function isPastFirst(
  { usageHistory }: RuleContext,
  { periodKey, tenantKey }: TenantFacts,
  before: number,
): boolean {
  const first = usageHistory.firstPeriodKey(tenantKey);
  return first !== null && first < periodKey - before;
}
