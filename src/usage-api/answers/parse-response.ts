import { z } from 'zod';
import { parseDateTime } from '../../core/date-time.ts';
import { formatPath, valueAt } from '../../core/text/path.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { type EndpointLabel, InvalidResponseError } from '../errors.ts';
import type { ApiResponse } from '../http/transport.ts';
import { findRepeatedMember } from './parse-json.ts';
import { describeValue, envelopeMessage, isEnvelope } from './server-text.ts';
import { describeBody, describeJson } from './unexpected-body.ts';

/**
 * Returns the `data` of a 2xx response, checked against its schema. Throws InvalidResponseError that names the field.
 * Errors do not quote a response that may hold a token, except for its `message` and the text of an HTML page.
 */
export function parseResponse<T>(
  answer: Pick<ApiResponse, 'status' | 'contentType' | 'body'>,
  schema: z.ZodType<T>,
  endpoint: EndpointLabel,
  redact: Redactor,
): T {
  const { status, contentType } = answer;
  const response = { endpoint, status, contentType, redact };
  const text = decodeBytes(answer.body);
  const value = text === undefined ? undefined : parseJsonOrUndefined(text);
  if (text === undefined || value === undefined) {
    const { text: found, hint } = describeBody(Buffer.concat(answer.body), response);
    throw new InvalidResponseError(`${endpoint}: the response is not JSON: ${found}`, { endpoint, status, hint });
  }
  const repeated = findRepeatedMember(text, value);
  if (repeated !== null) {
    const problem = `${describeValue(repeated, redact)} appears twice in one object`;
    throw new InvalidResponseError(`${endpoint}: ${problem}`, { endpoint, status });
  }
  const serverMessage = envelopeMessage(value, redact);
  if (typeof value === 'object' && value !== null && 'success' in value && value.success === false) {
    const suffix = serverMessage === null ? '' : `: ${serverMessage}`;
    throw new InvalidResponseError(`${endpoint}: success is false${suffix}`, { endpoint, status, serverMessage });
  }
  const result = successEnvelope(schema).safeParse(value);
  if (result.success) return result.data.data as T;
  const path = result.error.issues[0]?.path ?? [];
  const found = valueAt(value, path);
  const problem =
    found === undefined ? 'is missing' : `is ${describeKind(found)}, which does not match the API specification`;
  const message = `${endpoint}: ${formatPath(path) || 'the response'} ${problem}`;
  if (isEnvelope(value)) throw new InvalidResponseError(message, { endpoint, status, serverMessage });
  const { text: description, hint } = describeJson(value, response);
  throw new InvalidResponseError(`${message}: ${description}`, { endpoint, status, serverMessage, hint });
}

function decodeBytes(body: Uint8Array[]): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(body));
  } catch {
    return undefined;
  }
}

function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describeKind(value: unknown): string {
  return typeof value === 'string' ? (value === '' ? 'empty' : 'a text') : describeValue(value);
}

const dateTime = z.string().refine((text) => parseDateTime(text) !== null, 'is not an ISO-8601 date-time');

function successEnvelope<T extends z.ZodType>(data: T) {
  return z.looseObject({ message: z.unknown().optional(), success: z.literal(true), data });
}

/**
 * A dashboard. Only its id is required: if a response with another missing field were rejected, the caller would not
 * learn that the dashboard now exists.
 */
export const dashboardSchema = z.looseObject({
  dashboard_id: z.string().min(1),
  title: z.string().nullish(),
  description: z.string().nullish(),
  workspace_id: z.string().nullish(),
  dashboard_status: z.string().nullish(),
  meta: z.record(z.string(), z.unknown()).nullish(),
  configuration: z.record(z.string(), z.unknown()).nullish(),
  is_public: z.boolean().nullish(),
  created_by: z.string().nullish(),
  modified_by: z.string().nullish(),
  deleted_by: z.string().nullish(),
  created_at: z.string().nullish(),
  modified_at: z.string().nullish(),
});

export const embedTokenSchema = z.looseObject({ token: z.string().min(1), expires_at: dateTime });

export type Dashboard = z.infer<typeof dashboardSchema>;
export type EmbedToken = z.infer<typeof embedTokenSchema>;
