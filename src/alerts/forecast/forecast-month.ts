import { MAX_BURST_DAYS } from './change-point.ts';
import { forecastOf, type UsageForecast } from './forecast.ts';
import { forecastByHabit, isIntermittent } from './intermittent.ts';
import { HABIT_DAYS } from './past-days.ts';
import { withoutShared } from './shared-factor.ts';
import type { TenantSample } from './tenant-sample.ts';
import type { UsageHistory } from './usage-history.ts';

interface ForecastSubject {
  sample: TenantSample;
  periodKey: number;
  /** Null for the workspace. */
  tenantKey: number | null;
}

/**
 * Forecasts an open month. The workspace is forecast from its days unchanged, a tenant from its days without the shared
 * factor, and an intermittent tenant by its habits. Returns null with too little history.
 */
export function forecastMonth(usageHistory: UsageHistory, month: ForecastSubject): UsageForecast | null {
  const { sample, periodKey, tenantKey } = month;
  const current = usageHistory.reading(periodKey, tenantKey, usageHistory.sources.nowMs);
  if (current === null) return null;
  const daily = usageHistory.daily(periodKey, tenantKey);
  const past = usageHistory.of(periodKey, tenantKey, daily);
  if (tenantKey === null) return forecastOf(current, past, { maxBurstDays: MAX_BURST_DAYS.workspace });
  const days = daily.latest(HABIT_DAYS);
  if (isIntermittent(days)) {
    const others = () => sample.intermittent().flatMap((other) => (other.tenantKey === tenantKey ? [] : [other.days]));
    const left = Math.max(0, past.lengths[0] - past.elapsed);
    const byHabit = forecastByHabit(current, { days, left, others });
    if (byHabit !== null) return byHabit;
  }
  const own = withoutShared(past, sample.factors());
  return forecastOf(current, own.past, { shared: own.shared });
}
