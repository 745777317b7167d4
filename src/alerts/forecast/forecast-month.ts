import { MAX_BURST_DAYS } from './change-point.ts';
import { forecastFromPast, type UsageForecast } from './forecast.ts';
import { forecastByHabit, isIntermittent } from './intermittent.ts';
import { HABIT_DAYS } from './past-days.ts';
import { removeSharedFactor } from './shared-factor.ts';
import type { TenantSample } from './tenant-sample.ts';
import type { UsageHistory } from './usage-history.ts';

interface ForecastSubject {
  sample: TenantSample;
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
}

/**
 * Forecasts the credits of an open month; null if there is too little history. A workspace is forecast from its daily
 * credits, a tenant from its daily credits divided by the shared factor, and an intermittent tenant from what followed
 * similar activity in the past.
 */
export function forecastMonth(usageHistory: UsageHistory, month: ForecastSubject): UsageForecast | null {
  const { sample, periodKey, tenantKey } = month;
  const current = usageHistory.reading(periodKey, tenantKey, usageHistory.sources.nowMs);
  if (current === null) return null;
  const daily = usageHistory.daily(periodKey, tenantKey);
  const past = usageHistory.of(periodKey, tenantKey, daily);
  if (tenantKey === null) return forecastFromPast(current, past, { maxBurstDays: MAX_BURST_DAYS.workspace });
  const days = daily.latest(HABIT_DAYS);
  if (isIntermittent(days)) {
    const others = () => sample.intermittent().flatMap((other) => (other.tenantKey === tenantKey ? [] : [other.days]));
    const left = Math.max(0, past.lengths[0] - past.elapsed);
    const byHabit = forecastByHabit(current, { days, left, others });
    if (byHabit !== null) return byHabit;
  }
  const own = removeSharedFactor(past, sample.factors());
  return forecastFromPast(current, own.past, { shared: own.shared });
}
