import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { describeFieldFault } from '../../operations/field-words.ts';
import type { Operation } from '../../operations/operation.ts';
import { ApiError, type FieldFault } from './problem.ts';

export const DEFAULT_LIMIT = 100;
export const MAX_LIMIT = 1000;

/** How errors name an operation (`noun`), and where they say that its fields are described (`hint`). */
export interface Entry {
  noun: 'path' | 'tool';
  hint: string;
}

const PATH: Entry = { noun: 'path', hint: 'see /api for the fields of this path' };

/** The fields that every listing has, in addition to those of its operation. */
export interface PageInput {
  limit: number;
  cursor: string | null;
}

/**
 * Returns a function that reads the input of an operation from the path, the query and the body or form. The function
 * throws `bad_request` if the input is not valid.
 */
export function inputReader(
  operation: Operation,
): (
  request: FastifyRequest,
  form: Record<string, unknown> | null,
) => { input: Record<string, unknown>; page: PageInput } {
  const kinds = fieldKinds(operation.input);
  return (request, form) => {
    const { limit, cursor, format: _format, ...query } = request.query as Record<string, unknown>;
    const isList = operation.kind === 'list';
    const given: Record<string, unknown> = {};
    const texts = { ...query, ...(isList ? {} : definedFields({ limit, cursor })), ...pathFields(request.params) };
    for (const [field, text] of Object.entries(texts)) given[field] = fieldValue(text, kinds.get(field));
    if (form !== null) Object.assign(given, withoutFields(formValues(form, kinds), texts));
    else if (isFieldGroup(request.body)) Object.assign(given, withoutFields(request.body, texts));
    else if (request.body !== undefined && request.body !== null) {
      throw new ApiError(400, 'bad_request', 'the body is not a JSON object', {
        hint: 'send the fields as one object',
      });
    }
    const input = parseInput(operation, given, PATH);
    return { input, page: isList ? pageInputOf({ limit, cursor }) : { limit: DEFAULT_LIMIT, cursor: null } };
  };
}

/**
 * Returns the fields in the path that are not empty. An empty field may be given in the query or the body instead,
 * because clients change a path that contains the ids `.` or `..`.
 */
function pathFields(params: unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params as object).filter(([, text]) => text !== ''));
}

/** Checks the fields of an operation. Throws `bad_request`, which names each field that cannot be used. */
export function parseInput(operation: Operation, given: object, entry: Entry): Record<string, unknown> {
  const parsed = operation.input.safeParse(given, { error: describeFieldFault });
  if (parsed.success) return parsed.data;
  throw badRequest(
    parsed.error.issues.flatMap((issue) => faultsOf(issue, entry)),
    entry,
  );
}

function pageInputOf({ limit, cursor }: { limit: unknown; cursor: unknown }): PageInput {
  const faults: FieldFault[] = [];
  const number =
    limit === undefined ? DEFAULT_LIMIT : typeof limit === 'string' && /^\d{1,4}$/.test(limit) ? +limit : 0;
  if (number < 1 || number > MAX_LIMIT) {
    faults.push({ field: 'limit', message: `expected a whole number from 1 to ${MAX_LIMIT}` });
  }
  if (cursor !== undefined && typeof cursor !== 'string') faults.push({ field: 'cursor', message: 'is given twice' });
  if (faults.length > 0) throw badRequest(faults);
  return { limit: number, cursor: typeof cursor === 'string' ? cursor : null };
}

export function badRequest(fields: readonly FieldFault[], { hint }: Entry = PATH): ApiError {
  const [first] = fields;
  const more = fields.length > 1 ? `, and ${fields.length - 1} more` : '';
  const detail = first === undefined ? 'the request cannot be read' : `${first.field}: ${first.message}${more}`;
  return new ApiError(400, 'bad_request', detail, { hint, fields });
}

type FieldKind = 'boolean' | 'integer' | 'number' | 'array' | 'text';

/** Returns, for each field, the type to which the text of a query parameter is converted. */
function fieldKinds(input: z.ZodObject): Map<string, FieldKind> {
  const schema = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  const properties = Object.entries(schema.properties ?? {});
  return new Map(
    properties.map(([field, property]) => {
      const type = typeof property === 'object' ? property.type : undefined;
      return [field, isReadKind(type) ? type : 'text'] as const;
    }),
  );
}

/** Converts the fields of a form to values. All of them are texts, except the file. */
function formValues(form: Record<string, unknown>, kinds: Map<string, FieldKind>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(form).map(([field, text]) => [field, fieldValue(text, kinds.get(field))]));
}

const READ_KINDS = ['boolean', 'integer', 'number', 'array'] as const;

function isReadKind(type: unknown): type is (typeof READ_KINDS)[number] {
  return READ_KINDS.some((kind) => kind === type);
}

function fieldValue(text: unknown, kind: FieldKind | undefined): unknown {
  if (kind === 'array') return Array.isArray(text) ? text : [text];
  if (typeof text !== 'string') return text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  if (kind === 'number' && /^\d{1,15}(\.\d{1,15})?$/.test(text)) return Number(text);
  if (kind === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  return text;
}

function faultsOf(issue: z.core.$ZodIssue, { noun }: Entry): FieldFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((field) => ({ field: shownValue(field), message: `is not a field of this ${noun}` }));
  }
  return [{ field: shownValue(issue.path.map(String).join('.')) || 'body', message: issue.message }];
}

const MAX_FAULT_CHARACTERS = 80;

function shownValue(field: string): string {
  return field.length > MAX_FAULT_CHARACTERS ? `${field.slice(0, MAX_FAULT_CHARACTERS)}...` : field;
}

function isFieldGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the fields of a body. Throws `bad_request` if the path or the query has already given one of these fields.
 */
function withoutFields(body: Record<string, unknown>, texts: object): Record<string, unknown> {
  const twice = Object.keys(body).filter((field) => field in texts);
  if (twice.length > 0)
    throw badRequest(twice.map((field) => ({ field: shownValue(field), message: 'is given twice' })));
  return body;
}

function definedFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
