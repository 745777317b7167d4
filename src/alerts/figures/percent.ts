/**
 * `part / whole` in percent with one decimal, rounded half away from zero, in integers until the last division; null
 * without a positive whole.
 */
export function percentOf(part: bigint, whole: bigint): number | null {
  if (whole <= 0n) return null;
  const size = part < 0n ? -part : part;
  const tenths = Number((size * 2000n + whole) / (2n * whole)) / 10;
  return part < 0n && tenths > 0 ? -tenths : tenths;
}
