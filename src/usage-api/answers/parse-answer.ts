import type { z } from 'zod';
import { formatPath, valueAt } from '../../core/text/path.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { type EndpointLabel, InvalidResponseError } from '../errors.ts';
import type { Answer } from '../http/transport.ts';
import { repeatedMember } from './repeated-member.ts';
import { successEnvelope } from './schemas.ts';
import { describeValue, envelopeMessage } from './server-text.ts';

/**
 * The `data` of a 2xx answer, checked against its schema. Throws InvalidResponseError that names the field; the answer
 * itself is never quoted beyond its message, because it may hold a token.
 */
export function parseAnswer<T>(
  answer: Pick<Answer, 'status' | 'body'>,
  schema: z.ZodType<T>,
  endpoint: EndpointLabel,
  redact: Redactor,
): T {
  const { status } = answer;
  const text = decode(answer.body);
  const value = text === undefined ? undefined : parse(text);
  if (text === undefined || value === undefined) {
    throw new InvalidResponseError(`${endpoint}: the answer is not JSON`, { endpoint, status });
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
  throw new InvalidResponseError(`${endpoint}: ${formatPath(path) || 'the answer'} ${problem}`, {
    endpoint,
    status,
    serverMessage,
  });
}

/** Undefined when the body is not UTF-8. */
function decode(body: Uint8Array[]): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(body));
  } catch {
    return undefined;
  }
}

/** Undefined when the text is not JSON: JSON itself has no such value. */
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
