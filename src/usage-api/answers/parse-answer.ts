import { z } from 'zod';
import { parseDateTime } from '../../core/date-time.ts';
import { formatPath, valueAt } from '../../core/text/path.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { type EndpointLabel, InvalidResponseError } from '../errors.ts';
import type { Answer } from '../http/transport.ts';
import { repeatedMember } from './parse-json.ts';
import { describeValue, envelopeMessage, isEnvelope } from './server-text.ts';
import { describeBody, describeJson } from './unexpected-body.ts';

/**
 * The `data` of a 2xx answer, checked against its schema. Throws InvalidResponseError that names the field. Of the answer to a
 * request for a token nothing is quoted but its message and the text of an HTML page.
 */
export function parseAnswer<T>(
  answer: Pick<Answer, 'status' | 'contentType' | 'body'>,
  schema: z.ZodType<T>,
  endpoint: EndpointLabel,
  redact: Redactor,
): T {
  const { status, contentType } = answer;
  const response = { endpoint, status, contentType, redact };
  const text = decode(answer.body);
  const value = text === undefined ? undefined : parse(text);
  if (text === undefined || value === undefined) {
    const { text: found, hint } = describeBody(Buffer.concat(answer.body), response);
    throw new InvalidResponseError(`${endpoint}: the answer is not JSON: ${found}`, { endpoint, status, hint });
  }
  const repeated = repeatedMember(text, value);
  if (repeated !== null) {
    const said = `${describeValue(repeated, redact)} stands twice in one object`;
    throw new InvalidResponseError(`${endpoint}: ${said}`, { endpoint, status });
  }
  const serverMessage = envelopeMessage(value, redact);
  if (typeof value === 'object' && value !== null && 'success' in value && value.success === false) {
    const said = serverMessage === null ? '' : `: ${serverMessage}`;
    throw new InvalidResponseError(`${endpoint}: success is false${said}`, { endpoint, status, serverMessage });
  }
  const result = successEnvelope(schema).safeParse(value);
  if (result.success) return result.data.data as T;
  const path = result.error.issues[0]?.path ?? [];
  const found = valueAt(value, path);
  const problem = found === undefined ? 'is missing' : `is ${kindOf(found)}, which is not what belongs there`;
  const message = `${endpoint}: ${formatPath(path) || 'the answer'} ${problem}`;
  if (isEnvelope(value)) throw new InvalidResponseError(message, { endpoint, status, serverMessage });
  const { text: what, hint } = describeJson(value, response);
  throw new InvalidResponseError(`${message}: ${what}`, { endpoint, status, serverMessage, hint });
}

function decode(body: Uint8Array[]): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(body));
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function kindOf(value: unknown): string {
  return typeof value === 'string' ? (value === '' ? 'empty' : 'a text') : describeValue(value);
}

const dateTime = z.string().refine((text) => parseDateTime(text) !== null, 'is not an ISO-8601 date-time');

function successEnvelope<T extends z.ZodType>(data: T) {
  return z.looseObject({ message: z.unknown().optional(), success: z.literal(true), data });
}

/**
 * A dashboard. Only its id is insisted on: whoever asked for it needs that, and refusing the answer for any other field
 * would hide that the dashboard now exists.
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
