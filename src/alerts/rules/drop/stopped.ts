import { clear, holds, type Judgement } from '../../measures/judgement.ts';

const DAY_MS = 86_400_000;
/** A tenant that used credits on fewer days of the four weeks before is not missed. */
const DAYS_OF_USE = 10;
export const DAYS_BEFORE = 28;
/** Days without use after which one is missed that paused for at most none, one, two or three days in those weeks. */
export const SILENT_DAYS: readonly number[] = [3, 4, 5.5, 7];
/** Runs that end a little early or late make no difference. */
const SLACK_MS = 3_600_000;

export interface StoppedInput {
  /** Since the figures of the tenant changed last. */
  silentMs: number;
  /** The alert fires already. */
  firing: boolean;
  /** How it used credits in the weeks before that; null when they were not read. Asked only of one that is silent. */
  before: () => UseBefore | null;
  /** Credits in those weeks below which nobody misses it. */
  floor: bigint;
}

export interface UseBefore {
  /** Days on which it used some. */
  days: number;
  credits: bigint;
  /** The longest time without use that readings prove. */
  longestPauseMs: number;
}

/**
 * A tenant that used credits on most days, be it weekdays alone, has used none for longer than it ever paused. Ends when it
 * uses some again.
 */
export function judgeStopped({ silentMs, firing, before, floor }: StoppedInput): Judgement {
  if (silentMs + SLACK_MS < (SILENT_DAYS[0] ?? 0) * DAY_MS) return clear(true);
  if (!firing) {
    const use = before();
    if (use === null || use.days < DAYS_OF_USE || use.credits < floor) return clear(false);
    const pauseDays = Math.max(0, Math.ceil((use.longestPauseMs - SLACK_MS) / DAY_MS));
    const missedAfter = SILENT_DAYS[pauseDays];
    if (missedAfter === undefined || silentMs + SLACK_MS < missedAfter * DAY_MS) return clear(false);
  }
  return holds({ level: 'likely', severity: 'warning', threshold: null });
}
