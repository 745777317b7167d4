import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { type Period, type PeriodWindow, parsePeriod } from '../../core/period.ts';

/** The periods that `--from` and `--to` name, both included; either may be absent. */
export function parsePeriodWindow({ from, to }: { from?: string; to?: string }): PeriodWindow {
  const window = {
    ...(from === undefined ? {} : { from: parsePeriod(from, '--from') }),
    ...(to === undefined ? {} : { to: parsePeriod(to, '--to') }),
  };
  if (window.from !== undefined && window.to !== undefined && window.from > window.to) {
    throw new UsageError(`--from ${window.from} lies after --to ${window.to}`, 'give the earlier period as --from');
  }
  return window;
}

export interface PeriodOptions {
  period?: string;
  from?: string;
  to?: string;
}

export function addPeriodOptions(command: Command, { note = '' } = {}): Command {
  return command
    .option('--period <period>', `only this period, YYYY-MM${note}`)
    .option('--from <period>', 'only from this period on, YYYY-MM')
    .option('--to <period>', 'only up to this period, YYYY-MM');
}

/** The periods that were asked for; undefined: all. */
export function chosenPeriods({ period, ...window }: PeriodOptions): Period | PeriodWindow | undefined {
  const isWindow = window.from !== undefined || window.to !== undefined;
  if (period === undefined) return isWindow ? parsePeriodWindow(window) : undefined;
  if (isWindow) throw new UsageError('--period contradicts --from and --to', 'give one period, or the first and last');
  return parsePeriod(period, '--period');
}
