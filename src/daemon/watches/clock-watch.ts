import type { PeriodicTask } from '../../core/periodic-task.ts';
import { describeTimesAhead, TIMES_AHEAD_REMEDY, type TimesAhead } from '../../ledger/journal/times-ahead.ts';
import { healthOf, type JobDeps, startJob } from '../jobs.ts';

interface ClockWatchOptions extends JobDeps {
  findTimesAhead(nowMs: number): TimesAhead | null;
  reportHealth(detail: string | null): Promise<void>;
}

/** Raises an alert while the ledger holds times in the future, and ends it afterwards. */
export function startClockWatch({ findTimesAhead, reportHealth, clock, logger }: ClockWatchOptions): PeriodicTask {
  const health = healthOf('clock', clock, reportHealth);
  return startJob('clock', { clock, logger }, async () => {
    const nowMs = clock.now();
    const found = findTimesAhead(nowMs);
    const detail = found === null ? null : describeTimesAhead(found, nowMs);
    if (detail !== null && health.isFailing !== true)
      logger.warn({ reason: detail, hint: TIMES_AHEAD_REMEDY }, 'the ledger holds times in the future');
    await health.report(detail);
  });
}
