import type { Redactor } from '../../core/text/redact.ts';
import { type ApiErrorOptions, type EndpointLabel, InvalidResponseError } from '../errors.ts';
import { describeValue } from './server-text.ts';

/** What a page was asked for: the ids must come back, and the page number goes into errors. */
export interface PageWhere {
  page: number | null;
  workspaceId: string;
  tenantId?: string | undefined;
  /** Takes the known secrets out of what the service says. */
  redact?: Redactor | undefined;
}

/** An error about a page's content: says the endpoint, the problem and the page. */
export function pageFault(
  problem: string,
  where: PageWhere,
  details: Pick<ApiErrorOptions, 'serverMessage' | 'hint'> = {},
): InvalidResponseError {
  const endpoint: EndpointLabel = where.tenantId === undefined ? 'workspace usage' : 'tenant usage';
  const page = where.page === null ? '' : ` (page ${where.page})`;
  return new InvalidResponseError(`${endpoint}: ${problem}${page}`, { endpoint, ...details });
}

/** A field is missing or not of the kind it should be. */
export function kindFault(value: unknown, path: string, kind: string, where: PageWhere): InvalidResponseError {
  return pageFault(
    value === undefined ? `${path} is missing` : `${path} is ${describeValue(value, where.redact)}, not ${kind}`,
    where,
  );
}

/** An id is not the one that was asked for. */
export function idFault(value: unknown, asked: string, path: string, where: PageWhere): InvalidResponseError {
  if (value === undefined) return pageFault(`${path} is missing`, where);
  return pageFault(
    `${path} is ${describeValue(value, where.redact)}, but ${describeValue(asked)} was asked for`,
    where,
  );
}
