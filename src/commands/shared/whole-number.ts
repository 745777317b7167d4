import { UsageError } from '../../core/errors.ts';

/** The value of an option that takes a whole number within these bounds. */
export function parseWholeNumber(text: string, option: string, least: number, most: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(
    `${option} ${JSON.stringify(text)} is out of range`,
    `give ${option} a whole number from ${least} to ${most}`,
  );
}
