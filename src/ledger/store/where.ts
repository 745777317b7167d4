import type { PeriodWindow } from '../../core/period.ts';

/** The value, values or period window that each column must match; undefined: any value. */
export type Filters = Readonly<Record<string, string | readonly string[] | PeriodWindow | undefined>>;

/**
 * Builds a WHERE clause, empty without conditions, and the values of its placeholders. Column names are not escaped, so
 * they must come from code.
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
