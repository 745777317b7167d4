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

/** For a list: how many of its rows are wanted. */
export const LIMIT_OPTION = [
  '--limit <number>',
  'show at most so many',
  (text: string): number => parseWholeNumber(text, '--limit', 1, 1_000_000_000),
] as const;
