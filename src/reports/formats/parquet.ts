import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { ParquetWriteOptions } from 'hyparquet-writer';
import type { ColumnKind, Sheet, SheetValue } from './columns.ts';

type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number];

const CREATED_BY = 'usage-ledger';
const ROWS_PER_GROUP = 5_000;
/**
 * The number of digits (precision), of decimal places (scale) and of bytes (`type_length`) of the DECIMAL columns. They
 * are large enough for every 64-bit amount in the minor unit of any currency, and for every price.
 */
const DECIMAL_SIZES = {
  amount: { precision: 23, scale: 4, type_length: 10 },
  price: { precision: 38, scale: 18, type_length: 16 },
};
const DECIMAL_TYPE = { type: 'FIXED_LEN_BYTE_ARRAY', converted_type: 'DECIMAL' } as const;
const ELEMENTS = {
  id: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  credits: { type: 'INT64' },
  count: { type: 'INT64' },
  amount: { ...DECIMAL_TYPE, ...DECIMAL_SIZES.amount },
  price: { ...DECIMAL_TYPE, ...DECIMAL_SIZES.price },
  decimal: { type: 'DOUBLE' },
  double: { type: 'DOUBLE' },
  date: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } },
  day: { type: 'INT32', converted_type: 'DATE' },
  flag: { type: 'BOOLEAN' },
} as const satisfies Record<ColumnKind, Omit<SchemaElement, 'name'>>;

/**
 * Writes rows to an existing file as Parquet. Integers are INT64 and money is DECIMAL, both exact. Times are in UTC,
 * and text is UTF-8. Blocks the thread until everything is written.
 */
export async function writeParquet({ columns, rows }: Sheet, path: string): Promise<void> {
  const seen = { rows: 0 };
  const { fileWriter, parquetWriteRows } = await import('hyparquet-writer');
  await parquetWriteRows({
    writer: fileWriter(path),
    columns: columns.map(({ name }) => ({ name })),
    schema: [
      { name: 'root', num_children: columns.length },
      ...columns.map(({ name, kind }) => ({ name, ...ELEMENTS[kind], repetition_type: 'OPTIONAL' as const })),
    ],
    rows: parquetRecords(rows, columns, seen),
    rowGroupSize: ROWS_PER_GROUP,
    createdBy: CREATED_BY,
  });
  if (seen.rows === 0) repairEmptyFooter(path);
}

/**
 * The bytes in the footer of a file without rows, in Thrift's compact protocol: zero rows, an empty list of row groups,
 * and the creator.
 */
const NO_GROUPS = Buffer.from([0x16, 0x00, 0x19, 0x00, 0x28, CREATED_BY.length, ...Buffer.from(CREATED_BY)]);
const LIST_HEADER_AT = 3;
const LIST_OF_STRUCTS = 0x0c;

/**
 * Repairs the footer of a file without rows. The library leaves out the element type of the empty list of row groups,
 * and strict readers reject such a file.
 */
function repairEmptyFooter(path: string): void {
  const at = readFileSync(path).lastIndexOf(NO_GROUPS);
  if (at < 0) return;
  const descriptor = openSync(path, 'r+');
  try {
    writeSync(descriptor, Buffer.from([LIST_OF_STRUCTS]), 0, 1, at + LIST_HEADER_AT);
  } finally {
    closeSync(descriptor);
  }
}

function* parquetRecords(
  rows: Iterable<readonly SheetValue[]>,
  columns: Sheet['columns'],
  seen: { rows: number },
): Generator<Record<string, unknown>> {
  for (const row of rows) {
    seen.rows += 1;
    yield Object.fromEntries(columns.map(({ name, kind }, index) => [name, parquetValue(row[index] ?? null, kind)]));
  }
}

function parquetValue(value: SheetValue, kind: ColumnKind): unknown {
  if (value === null || kind === 'flag') return value;
  if (kind === 'credits' || kind === 'count') return BigInt(value);
  if (kind === 'decimal' || kind === 'double') return Number(value);
  if (kind === 'amount' || kind === 'price') return unscaled(String(value), DECIMAL_SIZES[kind].scale);
  return kind === 'date' || kind === 'day' ? new Date(String(value)) : String(value);
}

/**
 * Converts a plain decimal to an integer by moving the point `scale` places to the right: `-1.5` with scale 4 is
 * -15000.
 */
function unscaled(plain: string, scale: number): bigint {
  const [whole = '', part = ''] = plain.split('.');
  return BigInt(whole + part.padEnd(scale, '0'));
}
