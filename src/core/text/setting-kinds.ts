import { z } from 'zod';

export const word = z.string().trim().min(1);

/** Variables from the environment are text: `${PORT}` has to count as a number where one is wanted. */
export function numeric<Schema extends z.ZodType<number>>(schema: Schema) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value),
    schema,
  );
}

export function integer(least: number, most: number) {
  return numeric(z.int().check(z.gte(least), z.lte(most)));
}

/** Variables from the environment are text here, too. */
export const flag = z.preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean());

/**
 * A setting that may be left out, and what counts then. The remedy says what to write; it is the description in the JSON
 * Schema, too.
 */
export function setting<Schema extends z.ZodType>(schema: Schema, remedy: string): z.ZodOptional<Schema>;
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  remedy: string,
  byDefault: z.core.util.NoUndefined<z.output<Schema>>,
): z.ZodDefault<Schema>;
export function setting<Schema extends z.ZodType>(
  schema: Schema,
  remedy: string,
  byDefault?: z.core.util.NoUndefined<z.output<Schema>>,
) {
  return described(byDefault === undefined ? schema.optional() : schema.default(byDefault), remedy);
}

/** Says of a schema that stands nowhere else what to write. `describe` makes another one, and a start waits for each. */
export function described<Schema extends z.ZodType>(schema: Schema, remedy: string): Schema {
  z.globalRegistry.add(schema, { description: remedy });
  return schema;
}
