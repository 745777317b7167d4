import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { ParquetWriteOptions } from 'hyparquet-writer';
import type { ColumnKind, Sheet, SheetValue } from './columns.ts';

type SchemaElement = NonNullable<ParquetWriteOptions['schema']>[number];

const CREATED_BY = 'usage-ledger';
const ROWS_A_GROUP = 5_000;
/** Digits before and behind the point: of any amount of 64 bits in the minor unit of any currency, and of any price. */
const DECIMALS = {
  amount: { precision: 23, scale: 4, type_length: 10 },
  price: { precision: 38, scale: 18, type_length: 16 },
};
const DECIMAL = { type: 'FIXED_LEN_BYTE_ARRAY', converted_type: 'DECIMAL' } as const;
const ELEMENTS = {
  id: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  credits: { type: 'INT64' },
  count: { type: 'INT64' },
  amount: { ...DECIMAL, ...DECIMALS.amount },
  price: { ...DECIMAL, ...DECIMALS.price },
  decimal: { type: 'DOUBLE' },
  double: { type: 'DOUBLE' },
  date: { type: 'INT64', logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } },
  day: { type: 'INT32', converted_type: 'DATE' },
  flag: { type: 'BOOLEAN' },
} as const satisfies Record<ColumnKind, Omit<SchemaElement, 'name'>>;

/**
 * Writes rows into a file that is there, as Parquet: integers as INT64 and money as DECIMAL, exact; times in UTC; text as UTF-8. It returns when all is written, and holds up the thread until then.
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
    rows: recordsOf(rows, columns, seen),
    rowGroupSize: ROWS_A_GROUP,
    createdBy: CREATED_BY,
  });
  if (seen.rows === 0) mendEmptyFooter(path);
}

/** In the footer: no rows, no row groups, and who made it, as Thrift's compact protocol writes them. */
const NO_GROUPS = Buffer.from([0x16, 0x00, 0x19, 0x00, 0x28, CREATED_BY.length, ...Buffer.from(CREATED_BY)]);
const LIST_HEADER_AT = 3;
const LIST_OF_STRUCTS = 0x0c;

/** The library writes an empty list of row groups without the type of its elements, which strict readers refuse. */
function mendEmptyFooter(path: string): void {
  const at = readFileSync(path).lastIndexOf(NO_GROUPS);
  if (at < 0) return;
  const descriptor = openSync(path, 'r+');
  try {
    writeSync(descriptor, Buffer.from([LIST_OF_STRUCTS]), 0, 1, at + LIST_HEADER_AT);
  } finally {
    closeSync(descriptor);
  }
}

function* recordsOf(
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
  if (kind === 'amount' || kind === 'price') return unscaled(String(value), DECIMALS[kind].scale);
  return kind === 'date' || kind === 'day' ? new Date(String(value)) : String(value);
}

/** A plain decimal as an integer of its last digit: `-1.5` with 4 decimals is -15000. */
function unscaled(plain: string, scale: number): bigint {
  const [whole = '', part = ''] = plain.split('.');
  return BigInt(whole + part.padEnd(scale, '0'));
}
