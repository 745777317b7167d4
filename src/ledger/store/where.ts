import type { PeriodWindow } from '../../core/period.ts';

/** Columns and the values that they must have; those without a value do not matter. */
export type Filters = Readonly<Record<string, string | readonly string[] | PeriodWindow | undefined>>;

/** A WHERE clause, empty when everything counts, and the values for its placeholders. The columns come from the code. */
export function whereClause(filters: Filters): { where: string; values: string[] } {
  const conditions: string[] = [];
  const values: string[] = [];
  const add = (condition: string, ...given: string[]): void => {
    conditions.push(condition);
    values.push(...given);
  };
  for (const [column, wanted] of Object.entries(filters)) {
    if (wanted === undefined) continue;
    if (typeof wanted === 'string') add(`${column} = ?`, wanted);
    else if ('length' in wanted) add(`${column} IN (${wanted.map(() => '?').join(', ')})`, ...wanted);
    else {
      if (wanted.from !== undefined) add(`${column} >= ?`, wanted.from);
      if (wanted.to !== undefined) add(`${column} <= ?`, wanted.to);
    }
  }
  return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values };
}
