import { z } from 'zod';
import type { Operation } from '../../operations/operation.ts';
import { type FileFormat, formatsOf, mediaTypeOf } from './answer-format.ts';
import { DEFAULT_LIMIT, MAX_LIMIT } from './read-input.ts';
import { snapshotSchema } from './snapshot.ts';

/** A JSON Schema, or any other part of the description. */
type Json = Record<string, unknown>;

const PROBLEM_SCHEMA: Json = {
  type: 'object',
  description: 'What failed and what to do, as RFC 9457 has it.',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'stable; programs may rely on it' },
    detail: { type: 'string' },
    hint: { type: 'string', description: 'what to try next' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
};

/** The responses that every path may give. */
const PROBLEMS = {
  '400': 'A field is not valid',
  '401': 'The token is missing or wrong',
  '403': 'The role of the token does not allow this',
  '404': 'Not found',
  '409': 'The state of the ledger does not allow it',
  '429': 'Too many requests or streams',
  '503': 'Try again later',
};

/** Describes the operations as an OpenAPI 3.1 document. */
export function describeApi(operations: readonly Operation[], version: string): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const { method, path } = operation.http;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describeOperation(operation) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'usage-ledger',
      version,
      summary: 'The ledger over HTTP: the same questions, rules and figures as the commands.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ token: [] }],
    tags: [...new Set(operations.map(operationTag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: 'a token of http.tokens' } },
      schemas: { Problem: PROBLEM_SCHEMA, Snapshot: schemaOf(snapshotSchema, 'output') },
    },
  };
}

function operationTag({ http }: Operation): string {
  return http.path.split('/')[1] ?? '';
}

function describeOperation(operation: Operation): Json {
  const { name, summary, details, role, http, command } = operation;
  const { properties = {}, required = [] } = schemaOf(operation.input, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  const inPath = [...http.path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => field);
  const others = Object.keys(properties).filter((field) => !inPath.includes(field));
  const hasBody = http.method === 'POST';
  const parameters = [
    ...inPath.map((field) => parameter(field, 'path', properties[field] ?? {}, true)),
    ...(hasBody
      ? []
      : others.map((field) => parameter(field, 'query', properties[field] ?? {}, required.includes(field)))),
    ...(operation.kind === 'list' ? PAGE_PARAMETERS : []),
    ...formatParameter(operation),
  ];
  const body: Json = {
    type: 'object',
    properties: Object.fromEntries(others.map((field) => [field, properties[field]])),
    required: required.filter((field) => !inPath.includes(field)),
    additionalProperties: false,
  };
  const from = command === null ? '' : ` The command \`usage-ledger ${command} --json\` prints the same.`;
  return {
    operationId: name.replace('.', '_'),
    summary,
    description: `${details === undefined ? '' : `${details} `}Needs the role \`${role}\`.${from}`,
    tags: [operationTag(operation)],
    parameters,
    ...(hasBody ? { requestBody: { content: { [bodyType(operation)]: { schema: body } } } } : {}),
    responses: {
      [String(http.status ?? 200)]: success(operation),
      ...(hasBody ? {} : { '304': { description: 'Not changed' } }),
      ...problems(),
    },
  };
}

function formatParameter(operation: Operation): Json[] {
  const formats = formatsOf(operation);
  if (formats.length === 1) return [];
  const description = 'the format of the answer; without it, the Accept header decides';
  return [parameter('format', 'query', { type: 'string', enum: formats, description }, false)];
}

function bodyType({ upload }: Operation): string {
  return upload === undefined ? 'application/json' : 'multipart/form-data';
}

const PAGE_PARAMETERS: readonly Json[] = [
  parameter(
    'limit',
    'query',
    { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT, description: 'rows of a page' },
    false,
  ),
  parameter('cursor', 'query', { type: 'string', description: 'next_cursor of the previous page' }, false),
];

function parameter(name: string, place: 'path' | 'query', { description, ...schema }: Json, required: boolean): Json {
  return { name, in: place, required, ...(description === undefined ? {} : { description }), schema };
}

function success(operation: Operation): Json {
  const content: Record<string, Json> = { 'application/json': { schema: documentSchema(operation) } };
  for (const format of formatsOf(operation)) {
    if (format !== 'json') content[mediaTypeOf(format).split(';')[0] ?? ''] = { schema: FILE_SCHEMAS[format] };
  }
  return {
    description: operation.kind === 'list' ? 'A page of rows' : 'The document',
    ...(operation.http.method === 'GET' ? { headers: ETAG_HEADER } : {}),
    content,
  };
}

const FILE_SCHEMAS: Readonly<Record<FileFormat, Json>> = {
  ndjson: { type: 'string', description: 'all rows, one on each line' },
  csv: { type: 'string', description: 'all rows' },
  xlsx: { type: 'string', format: 'binary', description: 'all rows in a workbook' },
  parquet: { type: 'string', format: 'binary', description: 'all rows in a Parquet file' },
  html: { type: 'string', description: 'a page to print' },
};

const ETAG_HEADER: Json = { ETag: { description: 'changes when the answer does', schema: { type: 'string' } } };

function documentSchema(operation: Operation): Json {
  const snapshot = { snapshot: { $ref: '#/components/schemas/Snapshot' } };
  if (operation.kind === 'change')
    return extended(schemaOf(operation.output, 'output'), { ...CHANGE_MEMBERS, ...snapshot });
  if (operation.kind === 'document') return extended(schemaOf(operation.output, 'output'), snapshot);
  const rows = { [operation.member]: { type: 'array', items: schemaOf(operation.row, 'output') } };
  const tail = operation.tail === undefined ? {} : (schemaOf(operation.tail, 'output').properties as Json);
  const next = { next_cursor: { type: ['string', 'null'], description: 'null on the last page' } };
  return extended(schemaOf(operation.head, 'output'), { ...rows, ...tail, ...next, ...snapshot });
}

/** Fields that the answer to a change has in addition to its document. */
const CHANGE_MEMBERS: Json = {
  applied: {
    type: 'boolean',
    description: 'true if the ledger has the change, from this request or from an earlier one; false after a dry run',
  },
  notes: { type: 'array', items: { type: 'string' }, description: 'notes for a person' },
};

/** Adds required members to the schema of an object, or to each alternative of a union of objects. */
function extended(schema: Json, members: Json): Json {
  const { properties, required, anyOf, ...others } = schema;
  if (Array.isArray(anyOf)) return { ...others, anyOf: anyOf.map((each: Json) => extended(each, members)) };
  return {
    ...others,
    type: 'object',
    properties: { ...(properties as Json | undefined), ...members },
    required: [...((required as string[] | undefined) ?? []), ...Object.keys(members)],
  };
}

function problems(): Record<string, Json> {
  const schema = { $ref: '#/components/schemas/Problem' };
  return Object.fromEntries(
    Object.entries(PROBLEMS).map(([status, description]) => [
      status,
      { description, content: { 'application/problem+json': { schema } } },
    ]),
  );
}

/** Converts a schema to JSON Schema. A bigint becomes an integer of the format `int64`. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema, ...json } = z.toJSONSchema(schema, {
    io,
    unrepresentable: ({ zodSchema }) =>
      zodSchema._zod.def.type === 'bigint' ? { type: 'integer', format: 'int64' } : 'any',
  }) as Json;
  return json;
}
