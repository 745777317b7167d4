import type { ColumnKind } from '../../reports/formats/columns.ts';

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;
/** What a field holds; with `?` it may be null. */
type Field = ColumnKind | `${ColumnKind}?` | Schema;
export type Fields = Readonly<Record<string, Field>>;

const DECIMAL = { type: 'string', pattern: '^-?\\d+(\\.\\d+)?$' };
const KINDS: Readonly<Record<ColumnKind, Schema>> = {
  id: { type: 'string' },
  text: { type: 'string' },
  credits: { type: 'integer' },
  count: { type: 'integer' },
  amount: DECIMAL,
  price: DECIMAL,
  decimal: DECIMAL,
  percent: { type: 'number' },
  date: { type: 'string', format: 'date-time' },
  day: { type: 'string', format: 'date' },
  flag: { type: 'boolean' },
};

function schemaOf(field: Field): Schema {
  if (typeof field !== 'string') return field;
  const kind = field.replace('?', '') as ColumnKind;
  return field.endsWith('?') ? orNull(KINDS[kind]) : KINDS[kind];
}

export function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: 'null' }] };
}

/** An object of these fields and no others; one with `?` behind its name may be absent. */
export function object(fields: Fields): Schema {
  const named = Object.entries(fields).map(([name, field]) => [name.replace('?', ''), schemaOf(field)] as const);
  const required = Object.keys(fields).filter((name) => !name.endsWith('?'));
  return { type: 'object', properties: Object.fromEntries(named), required, additionalProperties: false };
}

/** The same with others beside them, of which nothing is promised. */
export function openObject(fields: Fields = {}): Schema {
  return { ...object(fields), additionalProperties: true };
}

export function list(item: Field): Schema {
  return { type: 'array', items: schemaOf(item) };
}

export function one(...words: readonly (string | null)[]): Schema {
  return { enum: words };
}

/** A row as its columns say it; `others` are said otherwise. */
export function rowOf(
  columns: readonly { name: string; kind: ColumnKind; nullable?: true }[],
  others: Fields = {},
): Schema {
  const fields = columns.map(({ name, kind, nullable }) => [name, nullable === true ? (`${kind}?` as const) : kind]);
  return object({ ...Object.fromEntries(fields), ...others });
}
