import type { UsageFigures } from './usage-figures.ts';

/** The cause of growth: `volume` is more requests, `intensity` more credits per request, `mixed` both. */
export type GrowthDriver = 'volume' | 'intensity' | 'mixed';

/** The driver is `volume` if requests explain at least four fifths of the growth, `intensity` if at most one fifth. */
const VOLUME_SHARE_FROM = 0.8;
const VOLUME_SHARE_TO = 0.2;

/**
 * Returns which of two factors made credits grow: requests, or credits per request. Their shares are measured on a
 * logarithmic scale, where they add up to one. Null if the credits did not grow from a positive figure.
 */
export function findGrowthDriver(previous: UsageFigures, current: UsageFigures): GrowthDriver | null {
  if (previous.credits <= 0n || current.credits <= previous.credits) return null;
  // If the requests did not rise, each request used more credits. That is said for 0 requests too.
  if (current.requests <= previous.requests) return 'intensity';
  if (previous.requests <= 0n) return 'mixed';
  const volumeShare = growth(previous.requests, current.requests) / growth(previous.credits, current.credits);
  if (volumeShare >= VOLUME_SHARE_FROM) return 'volume';
  return volumeShare <= VOLUME_SHARE_TO ? 'intensity' : 'mixed';
}

/** Returns `ln(to / from)` for positive figures that rise. log1p of the exact difference does not lose small growth. */
function growth(from: bigint, to: bigint): number {
  return Math.log1p(Number(to - from) / Number(from));
}
