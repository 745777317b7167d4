import { counted } from './counted.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** A duration in words, rounded down to one unit: `3 min`, `2 h`, `1 day`. */
export function inOneUnit(durationMs: number): string {
  if (durationMs < MINUTE_MS) return `${Math.floor(durationMs / SECOND_MS)} s`;
  if (durationMs < HOUR_MS) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  if (durationMs < DAY_MS) return `${Math.floor(durationMs / HOUR_MS)} h`;
  return counted(Math.floor(durationMs / DAY_MS), 'day');
}
