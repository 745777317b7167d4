import fc from 'fast-check';
import { z } from 'zod';
import { encodeCursor } from '../../../src/daemon/api/cursor.ts';
import type { Operation, RowKey } from '../../../src/operations/operation.ts';

/** A request as it goes over the wire. */
export interface DrawnRequest {
  method: string;
  /** The path with its query, as sent. */
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

/** What the ledger of the test has, so that some requests find something. */
export interface KnownValues {
  /** Values by the name of a field. */
  readonly ids: Readonly<Record<string, readonly string[]>>;
  readonly cursors: readonly string[];
  readonly tokens: readonly string[];
  readonly ledgerId: string;
}

type JsonSchema = Record<string, unknown>;

const UGLY = [
  ...[
    '/',
    '//',
    '..',
    '%00',
    '%2f',
    '%',
    '%ff',
    '%E0%A4%A',
    '',
    ' ',
    '\t',
    "'",
    '"',
    '\\',
    ';--',
    '*',
    '?',
    '#',
    '&',
    '=',
  ],
  ...[
    '🎿',
    'Ω',
    'a\u0301',
    '\u202e',
    '\ufeff',
    '__proto__',
    'constructor',
    'toString',
    'null',
    'true',
    '-1',
    '1e309',
    'NaN',
  ],
  ...[
    'x'.repeat(1025),
    '9'.repeat(40),
    '2026-13',
    '0000-00',
    '9999-12',
    '2026-02',
    '2026-02-30T25:61:61Z',
    '9'.repeat(64),
  ],
];

const ugly = fc.constantFrom(...UGLY);
const anyText = fc.oneof(ugly, fc.string({ unit: 'binary', maxLength: 40 }), fc.string({ maxLength: 20 }));
const deep = fc.integer({ min: 10, max: 3000 }).map((depth) => `${'['.repeat(depth)}${']'.repeat(depth)}`);
const anyValue = fc.oneof(
  anyText,
  fc.jsonValue(),
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 2 ** 53, [], {}, [[]], { __proto__: 1 }),
);

/** Draws a value that a schema accepts, or nearly so. */
function drawValue(schema: JsonSchema, known: KnownValues): fc.Arbitrary<unknown> {
  const { enum: choices, type, pattern, anyOf } = schema;
  if (Array.isArray(choices)) return fc.constantFrom(...choices);
  if (Array.isArray(anyOf)) return fc.oneof(...anyOf.map((each) => drawValue(each as JsonSchema, known)));
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.oneof(fc.integer({ min: 1, max: 300 }), fc.maxSafeInteger());
  if (type === 'number') return fc.oneof(fc.constantFrom(1, 1.5, 2), fc.double({ noNaN: true }));
  if (type === 'array') return fc.array(drawValue((schema.items ?? {}) as JsonSchema, known), { maxLength: 3 });
  if (type === 'object') return objectOf(schema, known);
  if (typeof pattern === 'string' && /\\d\{4\}/.test(pattern))
    return fc.constantFrom('2025-12', '2026-01', '2026-02', '2031-07');
  return fc.constantFrom(...Object.values(known.ids).flat(), '2026-02-20T12:00:00Z', '12.50', 'EUR');
}

const MAX_OPTIONAL_FIELDS = 2;

function objectOf(schema: JsonSchema, known: KnownValues): fc.Arbitrary<Record<string, unknown>> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>);
  const required = (schema.required ?? []) as string[];
  const optional = properties.map(([field]) => field).filter((field) => !required.includes(field));
  return fc
    .subarray(optional, { maxLength: Math.min(MAX_OPTIONAL_FIELDS, optional.length) })
    .chain((chosen) =>
      fc.record(
        Object.fromEntries(
          properties
            .filter(([field]) => required.includes(field) || chosen.includes(field))
            .map(([field, property]) => [field, drawField(field, property, known)]),
        ),
      ),
    );
}

/** Draws a value that the ledger knows, if the name of the field says which one. */
function drawField(field: string, schema: JsonSchema, known: KnownValues): fc.Arbitrary<unknown> {
  const ids = known.ids[field];
  const drawn = drawValue(schema, known);
  return ids === undefined || schema.type !== 'string'
    ? drawn
    : fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: drawn });
}

/** Replaces, removes or adds a field now and then. */
function broken(
  fields: fc.Arbitrary<Record<string, unknown>>,
  known: KnownValues,
): fc.Arbitrary<Record<string, unknown>> {
  const extra = fc.dictionary(
    fc.oneof(
      anyText,
      fc.constantFrom('limit', 'cursor', 'format', 'dry_run', 'tenant_id', 'period', 'workspace', 'token'),
    ),
    fc.oneof(anyValue, fc.constantFrom<unknown>(...known.cursors)),
    { maxKeys: 2 },
  );
  return fc
    .tuple(
      fields,
      fc.constantFrom('keep', 'keep', 'keep', 'keep', 'replace', 'remove', 'add'),
      extra,
      fc.nat(),
      anyValue,
    )
    .map(([given, how, others, at, value]) => {
      const names = Object.keys(given);
      const name = names[at % Math.max(1, names.length)];
      if (how === 'add') return { ...given, ...others };
      if (name === undefined || how === 'keep') return given;
      const { [name]: _removed, ...rest } = given;
      return how === 'remove' ? rest : { ...rest, [name]: value };
    });
}

/** Values that no row of a listing has as its key. */
const anyKey = fc.array(
  fc.oneof(
    anyText,
    fc.constant(null),
    fc.integer(),
    fc.double(),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constant([]),
    fc.constant({}),
  ),
  { maxLength: 6 },
);

/** Draws the fields of an operation, valid and broken. Cursors of this ledger may have keys that no row has. */
export function drawFields(operation: Operation, known: KnownValues): fc.Arbitrary<Record<string, unknown>> {
  const schema = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const forged = fc.tuple(objectOf(schema, known), anyKey).map(([fields, key]) => {
    const { data: input = fields } = operation.input.safeParse(fields);
    const place = { ledgerId: known.ledgerId, operation: operation.name, input };
    return { ...fields, cursor: encodeCursor(place, key as RowKey) };
  });
  const page = { limit: fc.integer({ min: 1, max: 300 }), cursor: fc.constantFrom(...known.cursors) };
  const paging = sometimes(fc.record(page, { requiredKeys: [] }), {});
  const listed = fc.tuple(objectOf(schema, known), paging).map(([fields, some]) => ({ ...fields, ...some }));
  const paged = fc.oneof({ weight: 4, arbitrary: listed }, { weight: 1, arbitrary: forged });
  return broken(operation.kind === 'list' ? paged : objectOf(schema, known), known);
}

const sometimes = <T>(value: fc.Arbitrary<T>, otherwise: T): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(otherwise) }, { weight: 1, arbitrary: value });

/** Draws a request to the API: an operation with fields, in path, query and body, with a token that may be wrong. */
export function drawRequest(operations: readonly Operation[], known: KnownValues): fc.Arbitrary<DrawnRequest> {
  return fc.constantFrom(...operations).chain((operation) =>
    fc
      .record({
        fields: drawFields(operation, known),
        token: fc.oneof(
          { weight: 12, arbitrary: fc.constantFrom(...known.tokens) },
          { weight: 1, arbitrary: fc.constantFrom('expired-token-of-this-test-1', '', 'x y', 'Ω'.repeat(8)) },
        ),
        accept: sometimes(
          fc.constantFrom('application/x-ndjson', 'text/csv', 'text/html', 'application/pdf', 'nonsense', '*/*;q=0'),
          'application/json',
        ),
        method: sometimes(fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'HEAD', 'OPTIONS'), operation.http.method),
        etag: sometimes(fc.constantFrom('*', 'W/"x"', '"', ',,,'), ''),
        rawBody: sometimes<string | null>(
          fc.oneof(deep, anyText, fc.constantFrom('{', '[]', 'null', '7', '{}{}')),
          null,
        ),
        mediaType: sometimes(
          fc.constantFrom('text/plain', 'multipart/form-data; boundary=x', 'application/json; x'),
          'application/json',
        ),
      })
      .map(({ fields, token, accept, method, etag, rawBody, mediaType }) => {
        const { path, rest } = filled(operation.http.path, fields);
        const hasBody = method !== 'GET' && method !== 'HEAD';
        const query = hasBody && rawBody === null ? '' : queryOf(rest);
        const headers: Record<string, string> = {
          authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
          accept,
        };
        if (etag !== '') headers['if-none-match'] = etag;
        const body = !hasBody ? null : (rawBody ?? JSON.stringify(rest));
        if (body !== null) headers['content-type'] = mediaType;
        return { method, path: `/api/v1${path}${query === '' ? '' : `?${query}`}`, headers, body };
      }),
  );
}

/** Fills the fields of a path. A text that is no URL yet is sent as it is, if it can be sent at all. */
function filled(path: string, fields: Record<string, unknown>): { path: string; rest: Record<string, unknown> } {
  const rest = { ...fields };
  const text = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = textOf(rest[field]);
    delete rest[field];
    return /^[!-~]+$/.test(value) && value.startsWith('%') ? value : encoded(value);
  });
  return { path: text, rest };
}

function queryOf(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .flatMap(([name, value]) => (Array.isArray(value) ? value : [value]).map((each) => [name, each] as const))
    .map(([name, value]) => `${encoded(name)}=${encoded(textOf(value))}`)
    .join('&');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
