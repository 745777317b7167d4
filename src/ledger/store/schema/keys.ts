import { type Period, periodFromIndex, periodIndex } from '../../../core/period.ts';

/** Number of period keys per workspace: enough for every month of the years 0 to 9999. */
export const PERIODS_PER_WORKSPACE = 131072;

/** Returns the integer key of a workspace's period. The key of the previous period is one less. */
export function periodKeyOf(workspaceKey: number, period: Period): number {
  return workspaceKey * PERIODS_PER_WORKSPACE + periodIndex(period);
}

export function workspaceKeyOf(periodKey: number): number {
  return Math.floor(periodKey / PERIODS_PER_WORKSPACE);
}

export function periodOfKey(periodKey: number): Period {
  return periodFromIndex(periodKey % PERIODS_PER_WORKSPACE);
}

/**
 * Returns the bounds of a window of periods, for the SQL condition `period >= ? AND period <= ?`. If an end of the
 * window is null, every period satisfies its bound.
 */
export function windowBounds(window: { from: Period | null; to: Period | null }): [from: string, to: string] {
  return [window.from ?? '', window.to ?? '9999-99'];
}

export const ENTRY_KINDS = { opened: 1, increased: 2, decreased: 3, withdrawn: 4, restored: 5 } as const;

export function entryKindSql(column: string): string {
  const names = Object.entries(ENTRY_KINDS).map(([name, kind]) => `WHEN ${kind} THEN '${name}'`);
  return `CASE ${column} ${names.join(' ')} END`;
}
