import { UsageError } from '../../core/errors.ts';
import { type Period, parsePeriod } from '../../core/period.ts';

/** The periods that `--from` and `--to` name, both included; either may be absent. */
export function parsePeriodWindow({ from, to }: { from?: string; to?: string }): { from?: Period; to?: Period } {
  const window = {
    ...(from === undefined ? {} : { from: parsePeriod(from, '--from') }),
    ...(to === undefined ? {} : { to: parsePeriod(to, '--to') }),
  };
  if (window.from !== undefined && window.to !== undefined && window.from > window.to) {
    throw new UsageError(`--from ${window.from} lies after --to ${window.to}`, 'give the earlier period as --from');
  }
  return window;
}
