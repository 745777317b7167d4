/** Columns and the values that they must have; those without a value do not matter. */
export type Filters = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A WHERE clause, empty when everything counts, and the values for its placeholders. The columns come from the code. */
export function whereClause(filters: Filters): { where: string; values: string[] } {
  const conditions: string[] = [];
  const values: string[] = [];
  for (const [column, wanted] of Object.entries(filters)) {
    if (wanted === undefined) continue;
    const options = typeof wanted === 'string' ? [wanted] : wanted;
    conditions.push(`${column} IN (${options.map(() => '?').join(', ')})`);
    values.push(...options);
  }
  return { where: conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`, values };
}
