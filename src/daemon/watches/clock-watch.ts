import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import { describeAhead, TIMES_AHEAD_REMEDY, type TimesAhead } from '../../ledger/journal/times-ahead.ts';

const CHECK_INTERVAL_MS = 60_000;
/** What is so is said again after this: a command, whose clock shows another time, may have told otherwise. */
const SAID_AGAIN_MS = 10 * 60_000;

export interface ClockWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** What of the ledger lies in the future. */
  timesAhead(nowMs: number): TimesAhead | null;
  /** Raises the alert about it, or with null ends it. */
  tell(detail: string | null): Promise<void>;
}

/** Says it once when the ledger holds times to come, and when it does no more. */
export function startClockWatch({ timesAhead, tell, clock, logger }: ClockWatchOptions): PeriodicTask {
  let told: boolean | null = null;
  let toldMs = 0;
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'times to come could not be looked for',
    async work() {
      const nowMs = clock.now();
      const found = timesAhead(nowMs);
      const isNews = (found !== null) !== told;
      if (!isNews && clock.monotonic() - toldMs < SAID_AGAIN_MS) return;
      const detail = found === null ? null : describeAhead(found, nowMs);
      if (isNews && detail !== null)
        logger.warn({ reason: detail, hint: TIMES_AHEAD_REMEDY }, 'the ledger holds times to come');
      await tell(detail);
      told = found !== null;
      toldMs = clock.monotonic();
    },
  });
}
