import { type Period, periodEndMs, periodStartMs } from '../../core/period.ts';

export interface PeriodPhase {
  /** How much of the period has passed, exactly: `elapsedMs / lengthMs`. */
  elapsedMs: number;
  lengthMs: number;
  over: boolean;
  /** The period is over and its figures are not expected to change any more. */
  settled: boolean;
}

/** Returns how much of a period has passed at a time, in milliseconds since the epoch. `settled` is the same as `over`. */
export function periodPhaseAt(period: Period, atMs: number): PeriodPhase {
  const startMs = periodStartMs(period);
  const lengthMs = periodEndMs(period) - startMs;
  const elapsedMs = Math.min(Math.max(0, atMs - startMs), lengthMs);
  const over = elapsedMs === lengthMs;
  return { elapsedMs, lengthMs, over, settled: over };
}
