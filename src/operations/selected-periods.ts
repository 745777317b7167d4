import { InputError } from '../core/errors.ts';
import type { Period, PeriodWindow } from '../core/period.ts';

export interface PeriodInput {
  period?: Period | undefined;
  from?: Period | undefined;
  to?: Period | undefined;
}

/** Returns the selected month, or the selected window of months; undefined if neither is selected. */
export function selectedPeriods({ period, from, to }: PeriodInput): Period | PeriodWindow | undefined {
  const isWindow = from !== undefined || to !== undefined;
  if (period === undefined) return isWindow ? selectedWindow({ from, to }) : undefined;
  if (!isWindow) return period;
  throw new InputError(
    (nameOf) => `${nameOf('period')} conflicts with ${nameOf('from')} and ${nameOf('to')}`,
    'give one period, or the first and last',
  );
}

/**
 * Returns the window from `from` to `to`, both included and both optional. Throws InputError if `from` is after `to`.
 */
export function selectedWindow({ from, to }: Omit<PeriodInput, 'period'>): PeriodWindow {
  if (from !== undefined && to !== undefined && from > to) {
    throw new InputError(
      (nameOf) => `${nameOf('from')} ${from} is after ${nameOf('to')} ${to}`,
      (nameOf) => `give the earlier period as ${nameOf('from')}`,
    );
  }
  const window: PeriodWindow = {};
  if (from !== undefined) window.from = from;
  if (to !== undefined) window.to = to;
  return window;
}
