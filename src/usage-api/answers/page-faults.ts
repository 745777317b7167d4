import type { Redactor } from '../../core/text/redact.ts';
import { type ApiErrorOptions, type EndpointLabel, InvalidResponseError } from '../errors.ts';
import { describeValue, isObject } from './server-text.ts';
import { type BodyDescription, describeBody, describeJson } from './unexpected-body.ts';

/** The request for a page. The response must contain its workspace id and tenant id; errors name its page number. */
export interface PageWhere {
  page: number | null;
  workspaceId: string;
  tenantId?: string | undefined;
  /** Removes known secrets from quoted text. Without it, a response that is not JSON is not quoted at all. */
  redact?: Redactor | undefined;
  /** Status and content type of the response. Errors name them if the body is not an API response. */
  status?: number | undefined;
  contentType?: string | null | undefined;
}

/** Builds the error for a problem on a page. */
export function pageFault(
  problem: string,
  where: PageWhere,
  details: Pick<ApiErrorOptions, 'serverMessage' | 'hint'> = {},
): InvalidResponseError {
  const endpoint = endpointOf(where);
  return new InvalidResponseError(`${endpoint}: ${problem}${pageSuffix(where)}`, { endpoint, ...details });
}

/** Builds the error for a body that cannot be parsed. */
export function bodyFault(problem: string, body: Uint8Array, where: PageWhere): InvalidResponseError {
  return describedFault(problem, describeBody(body, { ...where, endpoint: endpointOf(where) }), where);
}

/** Builds the error for JSON that is not an envelope of the API. */
export function envelopeFault(answer: unknown, where: PageWhere): InvalidResponseError {
  const problem = isObject(answer)
    ? 'success is missing'
    : `the response is ${describeValue(answer, where.redact)}, not an object`;
  const description = describeJson(answer, { ...where, endpoint: endpointOf(where) });
  if (where.status === undefined) return pageFault(problem, where, { hint: description.hint });
  return describedFault(problem, description, where);
}

function describedFault(problem: string, { text, hint }: BodyDescription, where: PageWhere): InvalidResponseError {
  const endpoint = endpointOf(where);
  const status = where.status ?? null;
  return new InvalidResponseError(`${endpoint}: ${problem}${pageSuffix(where)}: ${text}`, { endpoint, status, hint });
}

function endpointOf({ tenantId }: PageWhere): EndpointLabel {
  return tenantId === undefined ? 'workspace usage' : 'tenant usage';
}

function pageSuffix({ page }: PageWhere): string {
  return page === null ? '' : ` (page ${page})`;
}

/** Builds the error for a value that is missing or not of the expected kind. */
export function kindFault(value: unknown, path: string, kind: string, where: PageWhere): InvalidResponseError {
  return pageFault(
    value === undefined ? `${path} is missing` : `${path} is ${describeValue(value, where.redact)}, not ${kind}`,
    where,
  );
}

/** Builds the error for an id that is missing or not the requested one. */
export function idFault(value: unknown, asked: string, path: string, where: PageWhere): InvalidResponseError {
  if (value === undefined) return pageFault(`${path} is missing`, where);
  return pageFault(
    `${path} is ${describeValue(value, where.redact)}, but ${describeValue(asked)} was asked for`,
    where,
  );
}
