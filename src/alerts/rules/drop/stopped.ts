import { DAY_MS } from '../../../core/durations.ts';
import { clear, holds, type Judgement } from '../judgement.ts';

/** A tenant that used credits on fewer of the last 28 days can pause without an alert. */
const DAYS_OF_USE = 10;
export const OBSERVED_DAYS = 28;
/**
 * Days without usage after which a tenant counts as stopped. The longest pause in the 28 days before selects the value:
 * no pause, one, two or three days.
 */
export const SILENT_DAYS: readonly number[] = [3, 4, 5.5, 7];
/**
 * Days without usage after which a whole workspace counts as standing still. The longest pause in the 28 days before
 * selects the value: no pause, one, two or three days.
 */
const STANDSTILL_DAYS: readonly number[] = [1, 2, 3, 4];
/** Allows for runs that end a little early or late. */
const SLACK_MS = 3_600_000;

export interface StoppedInput {
  /** Time since the figures changed last. */
  silentMs: number;
  firing: boolean;
  /**
   * Returns the usage in the 28 days before the figures changed last; null if nothing was read. Called only for a
   * silent tenant or workspace.
   */
  before: () => UseBefore | null;
  /** A stop is ignored if these 28 days had fewer credits than this. */
  floor: bigint;
}

export interface UseBefore {
  days: number;
  credits: bigint;
  /** Time from the first reading of these days to the last use. */
  spanMs: number;
  /** The longest time without usage between two readings. */
  longestPauseMs: number;
}

/**
 * Judges a tenant that used credits on most days, or on most working days: it has stopped if it is silent for longer
 * than its longest pause in the 28 days before. The alert ends when it uses credits again.
 */
export function judgeStopped(input: StoppedInput): Judgement {
  return judgeSilence(input, SILENT_DAYS, { level: 'likely', severity: 'warning', threshold: null });
}

/**
 * Judges a whole workspace. One day without usage may be enough, because tenants rarely all pause at once by chance.
 */
export function judgeStandstill(input: StoppedInput): Judgement {
  return judgeSilence(input, STANDSTILL_DAYS, { level: 'happened', severity: 'critical', threshold: null });
}

function judgeSilence(
  { silentMs, firing, before, floor }: StoppedInput,
  silentDays: readonly number[],
  finding: Parameters<typeof holds>[0],
): Judgement {
  if (silentMs + SLACK_MS < (silentDays[0] ?? 0) * DAY_MS) return clear(true);
  if (!firing) {
    const use = before();
    if (use === null || use.days < DAYS_OF_USE || use.credits < floor) return clear(false);
    const pauseDays = Math.max(0, Math.ceil((use.longestPauseMs - SLACK_MS) / DAY_MS));
    const missedAfter = silentDays[pauseDays];
    if (missedAfter === undefined || silentMs + SLACK_MS < missedAfter * DAY_MS) return clear(false);
  }
  return holds(finding);
}
