import { z } from 'zod';
import { parseDateTime } from '../core/date-time.ts';
import { PERIOD_FORM } from '../core/period.ts';
import type { InputFile } from '../input-files/input-file.ts';
import type { Column, ColumnKind } from '../reports/formats/columns.ts';

/** An integer of up to 64 bits, written as a JSON number with all digits. */
export const exactInteger = z
  .custom<bigint | number>((value) => typeof value === 'bigint' || Number.isSafeInteger(value), 'expected an integer')
  .meta({ type: 'integer', format: 'int64' });

/** An exact decimal as text, such as `12.50`. */
export const decimalText = z.string().regex(/^-?\d+(\.\d+)?$/, 'expected a decimal such as 12.50');

export const periodText = z
  .string()
  .regex(PERIOD_FORM, 'expected a month such as 2026-02')
  .meta({ examples: ['2026-02'] });

/** An id of a workspace, tenant or alert. */
export const idText = z
  .string()
  .min(1)
  .max(1024)
  .refine((text) => text.isWellFormed(), 'is not valid Unicode');

const MAX_NOTE_CHARACTERS = 500;

export const noteText = z.string().max(MAX_NOTE_CHARACTERS);

/** The field of changes that are only shown unless the caller asks to apply them. */
export const previewField = {
  dry_run: z.boolean().default(true).describe('false applies the change; without it, the change is only shown'),
};

/** The field of changes that are applied unless the caller asks only to see them. */
export const dryRunField = { dry_run: z.boolean().default(false).describe('show the change without applying it') };

/**
 * A time in ISO-8601, or a day, which means the first instant of the day in UTC. The parsed value is in milliseconds
 * since the epoch.
 */
export const momentText = z
  .string()
  .max(64)
  .transform((text, problems) => {
    const epochMs = parseDateTime(text.includes('T') ? text : `${text}T00:00:00Z`);
    if (epochMs !== null) return epochMs;
    problems.addIssue({ code: 'custom', message: 'expected a time such as 2026-04-01T08:00:00Z' });
    return z.NEVER;
  })
  .meta({ examples: ['2026-03-05T12:00:00Z'] });

const SCHEMA_OF_KIND: Readonly<Record<ColumnKind, z.ZodType>> = {
  id: z.string(),
  text: z.string(),
  credits: exactInteger,
  count: exactInteger,
  amount: decimalText,
  price: decimalText,
  decimal: decimalText,
  double: z.number(),
  date: z.string(),
  day: z.string(),
  flag: z.boolean(),
};

type NullableNames<Row> = { [Key in keyof Row]: null extends Row[Key] ? Key : never }[keyof Row];

/**
 * Builds the schema of a row from its columns. `nullable` names the columns that may be null. `others` has the schemas
 * of columns whose values are not plain texts or numbers.
 */
export function rowSchema<Row extends object>(
  columns: readonly Column<Row>[],
  nullable: readonly NullableNames<Row>[],
  others: Partial<Record<keyof Row, z.ZodType>> = {},
): z.ZodType<Row> {
  const shape: Record<string, z.ZodType> = {};
  for (const { name, kind } of columns) {
    const value = others[name] ?? SCHEMA_OF_KIND[kind];
    shape[name] = nullable.some((each) => each === name) ? value.nullable() : value;
  }
  return z.strictObject(shape) as unknown as z.ZodType<Row>;
}

/** The field `file` with a file that a person uploads or names. */
export function fileField(description: string): { file: z.ZodType<InputFile> } {
  const file = z.custom<InputFile>(isInputFile, 'expected a file').meta({ type: 'string', format: 'binary' });
  return { file: file.describe(description) };
}

function isInputFile(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'bytes' in value && Buffer.isBuffer(value.bytes);
}
