/**
 * Returns `part / whole` in percent, rounded half away from zero to one decimal; null unless the whole is positive.
 * RowWithBigints for integers of any size.
 */
export function percentOf(part: bigint, whole: bigint): number | null {
  if (whole <= 0n) return null;
  const size = part < 0n ? -part : part;
  const tenths = Number((size * 2000n + whole) / (2n * whole)) / 10;
  return part < 0n && tenths > 0 ? -tenths : tenths;
}
