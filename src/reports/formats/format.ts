import { counted } from '../../core/text/counted.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * An integer with thousands separators, the same in every locale: `1,234,567`. Exact for any bigint.
 *
 * @throws RangeError when a number has a fraction: credits and counts never do.
 */
export function formatInteger(value: number | bigint): string {
  return BigInt(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A plain decimal, such as an amount, with thousands separators: `-1,234.50`. For people; exact. */
export function formatDecimal(plain: string): string {
  return plain.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ','));
}

/** The time between two instants in words, rounded down to one unit: `3 min ago`, `in 2 h`, `just now` below 1 s. */
export function relativeTime(epochMs: number, nowMs: number): string {
  const distanceMs = Math.abs(nowMs - epochMs);
  if (distanceMs < SECOND_MS) return 'just now';
  const words = inOneUnit(distanceMs);
  return epochMs <= nowMs ? `${words} ago` : `in ${words}`;
}

function inOneUnit(durationMs: number): string {
  if (durationMs < MINUTE_MS) return `${Math.floor(durationMs / SECOND_MS)} s`;
  if (durationMs < HOUR_MS) return `${Math.floor(durationMs / MINUTE_MS)} min`;
  if (durationMs < DAY_MS) return `${Math.floor(durationMs / HOUR_MS)} h`;
  return counted(Math.floor(durationMs / DAY_MS), 'day');
}
