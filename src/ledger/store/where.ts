import type { PeriodWindow } from '../../core/period.ts';

/** For each column, the value, values or period window that it must match; undefined: any value. */
export type Filters = Readonly<Record<string, string | readonly string[] | PeriodWindow | undefined>>;

/**
 * Builds a WHERE clause and the values of its placeholders. The clause is empty if there are no conditions. Column
 * names are not escaped, so they must come from code.
 */
export function whereClause(filters: Filters): { where: string; values: string[] } {
  const conditions: string[] = [];
  const values: string[] = [];
  const add = (condition: string, ...parameters: string[]): void => {
    conditions.push(condition);
    values.push(...parameters);
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
