import { DAY_MS } from '../../../core/durations.ts';
import { clear, holds, type Judgement } from '../judgement.ts';

/** A tenant that used credits on fewer days of the four weeks before is not missed. */
const DAYS_OF_USE = 10;
export const OBSERVED_DAYS = 28;
/** Days without use after which one is missed that paused for at most none, one, two or three days in those weeks. */
export const SILENT_DAYS: readonly number[] = [3, 4, 5.5, 7];
/** The same of a workspace. */
const STILL_DAYS: readonly number[] = [1, 2, 3, 4];
/** Runs that end a little early or late make no difference. */
const SLACK_MS = 3_600_000;

export interface StoppedInput {
  /** Since the figures of the tenant changed last. */
  silentMs: number;
  firing: boolean;
  /** How it used credits in the weeks before that; null when they were not read. Asked only of one that is silent. */
  before: () => UseBefore | null;
  /** Credits in those weeks below which a stop is ignored. */
  floor: bigint;
}

export interface UseBefore {
  days: number;
  credits: bigint;
  /** From the first reading of these weeks to the last use. */
  spanMs: number;
  /** The longest time without use that readings prove. */
  longestPauseMs: number;
}

/**
 * A tenant that used credits on most days, be it weekdays alone, has used none for longer than it ever paused. Ends when it
 * uses some again.
 */
export function judgeStopped(input: StoppedInput): Judgement {
  return judgeSilence(input, SILENT_DAYS, { level: 'likely', severity: 'warning', threshold: null });
}

/** The same of a whole workspace: that everybody stops at once needs no more than a day. */
export function judgeStandstill(input: StoppedInput): Judgement {
  return judgeSilence(input, STILL_DAYS, { level: 'happened', severity: 'critical', threshold: null });
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
