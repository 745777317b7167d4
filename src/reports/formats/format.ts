import { canHaveHappened } from '../../core/stored-time.ts';
import { inOneUnit } from '../../core/text/duration.ts';
import { withThousands } from '../../core/text/thousands.ts';

/**
 * An integer with thousands separators, the same in every locale: `1,234,567`. Exact for any bigint.
 *
 * @throws RangeError when a number has a fraction: credits and counts never do.
 */
export function formatInteger(value: number | bigint): string {
  return withThousands(BigInt(value).toString());
}

/** A change: `+1,234`, `-5`, `0`. */
export function formatSigned(value: bigint): string {
  return value > 0n ? `+${formatInteger(value)}` : formatInteger(value);
}

/** A plain decimal, such as an amount, with thousands separators: `-1,234.50`. For people; exact. */
export function formatDecimal(plain: string): string {
  return plain.replace(/^-?\d+/, withThousands);
}

/** How long ago something happened, in words; `unknown` where it lies more than a minute in the future. */
export function timeAgo(at: string | null, nowMs: number): string {
  if (at === null) return 'never';
  const epochMs = Date.parse(at);
  return canHaveHappened(epochMs, nowMs) ? relativeTime(epochMs, nowMs) : 'unknown';
}

/** The time between two instants in words, rounded down to one unit: `3 min ago`, `in 2 h`, `just now` below 1 s. */
export function relativeTime(epochMs: number, nowMs: number): string {
  const distanceMs = Math.abs(nowMs - epochMs);
  if (distanceMs < 1000) return 'just now';
  const words = inOneUnit(distanceMs);
  return epochMs <= nowMs ? `${words} ago` : `in ${words}`;
}
