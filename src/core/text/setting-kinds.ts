import { z } from 'zod';

export const nonEmptyString = z.string().trim().min(1);

/**
 * Accepts a number or a number as text. Environment variables are text, so the value of `${PORT}` must count as a
 * number.
 */
export function numeric<Schema extends z.ZodType<number>>(schema: Schema) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value),
    schema,
  );
}

export function integerBetween(least: number, most: number) {
  return numeric(z.int().check(z.gte(least), z.lte(most)));
}

/** Accepts a boolean, or the text `true` or `false` from an environment variable. */
export const flag = z.preprocess((value) => (value === 'true' ? true : value === 'false' ? false : value), z.boolean());

/**
 * Declares an optional setting and its default. The remedy tells people how to write the value; it is also the
 * setting's description in the JSON Schema.
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
  return withDescription(byDefault === undefined ? schema.optional() : schema.default(byDefault), remedy);
}

/**
 * Adds a description to a schema without copying the schema. Use it only for a schema that is used in one place. Zod's
 * `describe` copies the schema, which slows down every start.
 */
export function withDescription<Schema extends z.ZodType>(schema: Schema, remedy: string): Schema {
  z.globalRegistry.add(schema, { description: remedy });
  return schema;
}
