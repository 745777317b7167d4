import { type Period, periodFromIndex, periodIndex } from '../../../core/period.ts';

/** Room for every month of the years 0 to 9999 in one workspace. */
export const PERIODS_PER_WORKSPACE = 131072;

/** The integer key of a period of a workspace: the key of the period before is one less. */
export function periodKeyOf(workspaceKey: number, period: Period): number {
  return workspaceKey * PERIODS_PER_WORKSPACE + periodIndex(period);
}

export function workspaceKeyOf(periodKey: number): number {
  return Math.floor(periodKey / PERIODS_PER_WORKSPACE);
}

export function periodOfKey(periodKey: number): Period {
  return periodFromIndex(periodKey % PERIODS_PER_WORKSPACE);
}

/** The bounds of a window of periods as values for `period >= ? AND period <= ?`; an open end is every period. */
export function windowBounds(window: { from: Period | null; to: Period | null }): [from: string, to: string] {
  return [window.from ?? '', window.to ?? '9999-99'];
}

export const ENTRY_KINDS = { opened: 1, increased: 2, decreased: 3, withdrawn: 4, restored: 5 } as const;

export function entryKindSql(column: string): string {
  const names = Object.entries(ENTRY_KINDS).map(([name, kind]) => `WHEN ${kind} THEN '${name}'`);
  return `CASE ${column} ${names.join(' ')} END`;
}
