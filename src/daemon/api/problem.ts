import { STATUS_CODES } from 'node:http';
import type { FastifyReply } from 'fastify';
import { AppError, summarizeError, systemFault } from '../../core/errors.ts';
import type { Redactor } from '../../core/text/redact.ts';
import { renderJson } from '../../reports/formats/json.ts';
import { PROBLEM_TYPE } from './media-types.ts';

/** A field of a request that is not valid. */
export interface FieldFault {
  field: string;
  message: string;
}

/** An error of the API. It becomes the body of a response: RFC 9457, `application/problem+json`. */
export class ApiError extends AppError {
  readonly status: number;
  readonly fields: readonly FieldFault[];

  constructor(
    status: number,
    code: string,
    message: string,
    { hint, fields = [] }: { hint?: string; fields?: readonly FieldFault[] } = {},
  ) {
    super(code, message, { hint });
    this.status = status;
    this.fields = fields;
  }
}

/** Seconds after which a caller may retry after a temporary failure. */
const RETRY_AFTER_SECONDS = 5;

/** The HTTP statuses of error codes. `statusOf` has rules for the other codes. */
const STATUSES: Readonly<Record<string, number>> = {
  usage: 400,
  bad_period: 400,
  bad_cursor: 400,
  unclear_cards: 400,
  ledger_missing: 503,
  ledger_outdated: 503,
  cancelled: 503,
};

/** Returns the HTTP status of an error. */
export function statusOf(error: AppError): number {
  if (error instanceof ApiError) return error.status;
  const known = STATUSES[error.code];
  if (known !== undefined) return known;
  if (error.code.startsWith('unknown_')) return 404;
  // An error with any other code is due to the state of the ledger, such as a month that is already closed.
  return error.retryable ? 503 : 409;
}

/** The body of a problem, as RFC 9457 defines it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  /** Stable; programs may rely on it. */
  code: string;
  detail: string;
  hint?: string;
  errors?: readonly FieldFault[];
}

/**
 * Describes an error for the caller. The details of an unexpected error are hidden; the caller of this function logs
 * them.
 */
export function problemOf(thrown: unknown): Problem {
  const error = systemFault(thrown) ?? thrown;
  const isExpected = error instanceof AppError;
  const status = isExpected ? statusOf(error) : 500;
  const { code, message, hint } = isExpected
    ? summarizeError(error)
    : { code: 'internal', message: 'the program failed to answer; its log has the reason', hint: undefined };
  const problem: Problem = {
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail: message,
  };
  if (hint !== undefined) problem.hint = hint;
  if (error instanceof ApiError && error.fields.length > 0) problem.errors = error.fields;
  return problem;
}

/** Answers with the problem document of an error. */
export function sendProblem(reply: FastifyReply, thrown: unknown, redact: Redactor): FastifyReply {
  const problem = problemOf(thrown);
  if (problem.status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS);
  return reply
    .code(problem.status)
    .type(PROBLEM_TYPE)
    .send(redact(renderJson(problem)));
}
