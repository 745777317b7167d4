import { clear, holds, type Judgement } from './rule.ts';

/** Who has used something on each of so many days uses daily, and has stopped after so many without. */
export const DAILY_DAYS = 14;
export const SILENT_DAYS = 3;

export interface StoppedInput {
  /** Since the figures of the tenant changed last. */
  silentDays: number;
  /** Credits of each of the days before that, by readings, the latest first; null for what nobody read. */
  days: readonly (bigint | null)[];
  /** The alert fires already. */
  firing: boolean;
  /** Credits in those days below which nobody misses it. */
  floor: bigint;
}

/** A tenant that used credits on every one of fourteen days has used none for three. Ends when it uses some again. */
export function judgeStopped({ silentDays, days, firing, floor }: StoppedInput): Judgement {
  if (silentDays < SILENT_DAYS) return clear(true);
  if (!firing) {
    let used = 0n;
    for (const day of days) {
      if (day === null || day <= 0n) return clear(false);
      used += day;
    }
    if (days.length < DAILY_DAYS || used < floor) return clear(false);
  }
  return holds({ stage: 'pace', severity: 'warning', threshold: null });
}
