import type { UsageFigures } from './usage-figures.ts';

export type ChangeReason = 'volume' | 'intensity' | 'mixed';

/** One driver is named alone when it explains at least four fifths of the growth. */
const VOLUME_SHARE_FROM = 0.8;
const VOLUME_SHARE_TO = 0.2;

/**
 * Splits growth into its two factors, credits = requests * credits per request, on a logarithmic scale where the shares
 * of both add up to one. Null when the credits did not grow from a positive figure: there is nothing to explain.
 */
export function changeReason(previous: UsageFigures, current: UsageFigures): ChangeReason | null {
  if (previous.credits <= 0n || current.credits <= previous.credits) return null;
  // Requests that did not rise cannot have driven the credits up, even where credits per request are undefined.
  if (current.requests <= previous.requests) return 'intensity';
  if (previous.requests <= 0n) return 'mixed';
  const volumeShare = growth(previous.requests, current.requests) / growth(previous.credits, current.credits);
  if (volumeShare >= VOLUME_SHARE_FROM) return 'volume';
  return volumeShare <= VOLUME_SHARE_TO ? 'intensity' : 'mixed';
}

/** `ln(to / from)` for positive figures that rise; log1p of the exact difference keeps small growth of huge figures. */
function growth(from: bigint, to: bigint): number {
  return Math.log1p(Number(to - from) / Number(from));
}
