import type { Operation } from '../../operations/operation.ts';
import { CSV_TYPE, HTML_CONTENT_TYPE, NDJSON_TYPE, PARQUET_TYPE, XLSX_TYPE } from './media-types.ts';
import { ApiError } from './problem.ts';

/** The formats of answers, except JSON, with their media types. */
const TYPES = {
  ndjson: NDJSON_TYPE,
  csv: CSV_TYPE,
  xlsx: XLSX_TYPE,
  parquet: PARQUET_TYPE,
  html: HTML_CONTENT_TYPE,
} as const;

export type FileFormat = keyof typeof TYPES;
export type AnswerFormat = FileFormat | 'json';

const FILE_FORMATS = Object.keys(TYPES) as FileFormat[];
const OFFERED_FORMATS: readonly AnswerFormat[] = ['json', ...FILE_FORMATS];

/** Returns the formats in which an operation can answer. */
export function formatsOf(operation: Operation): readonly AnswerFormat[] {
  if (operation.kind === 'change') return ['json'];
  const page = operation.page === undefined ? [] : (['html'] as const);
  if (operation.kind === 'document') return ['json', ...page];
  const sheets = operation.columns === null ? [] : (['csv', 'xlsx', 'parquet'] as const);
  return ['json', 'ndjson', ...sheets, ...page];
}

export function mediaTypeOf(format: FileFormat): string {
  return format === 'csv' || format === 'html' ? `${TYPES[format]}; charset=utf-8` : TYPES[format];
}

/**
 * Returns the format that a request asks for, by the parameter `format` or else by its `Accept` header. Throws ApiError
 * for a format that the operation does not have.
 */
export function requestedFormat(operation: Operation, parameter: unknown, accept: string): AnswerFormat {
  const offered = formatsOf(operation);
  if (parameter !== undefined) {
    const format = OFFERED_FORMATS.find((known) => known === parameter);
    if (format !== undefined && offered.includes(format)) return format;
    throw notAcceptable(operation, JSON.stringify(parameter), offered);
  }
  const format = FILE_FORMATS.find((each) => accept.includes(TYPES[each]));
  if (format === undefined || offered.includes(format)) return format ?? 'json';
  // A browser accepts HTML among other types, so it gets JSON if the operation has no page.
  if (format === 'html') return 'json';
  throw notAcceptable(operation, format, offered);
}

function notAcceptable({ name }: Operation, format: string, offered: readonly string[]): ApiError {
  return new ApiError(406, 'not_acceptable', `${name} has no format ${format}`, { hint: `use ${offered.join(', ')}` });
}
