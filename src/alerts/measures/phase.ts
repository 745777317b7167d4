import { type Period, periodEndMs, periodStartMs } from '../../core/period.ts';
import type { PeriodPhase } from './judgement.ts';

export function phaseOf(period: Period, atMs: number): PeriodPhase {
  const startMs = periodStartMs(period);
  const lengthMs = periodEndMs(period) - startMs;
  const elapsedMs = Math.min(Math.max(0, atMs - startMs), lengthMs);
  const over = elapsedMs === lengthMs;
  return { elapsedMs, lengthMs, over, settled: over };
}
