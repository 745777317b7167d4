import { STATUS_CODES } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, sendProblem } from '../api/problem.ts';

/**
 * Reports whether a program sent the request. The API and MCP answer errors with a problem document, pages with a
 * sentence.
 */
export function isApi({ url }: FastifyRequest): boolean {
  return /^\/(?:api|mcp)([/?]|$)/.test(url);
}

/** Answers a request that reaches no page: with a problem for a program, else with the reason. */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  code: string,
  hint: string,
): FastifyReply {
  if (!isApi(request)) return reply.code(status).send({ error: code, hint });
  return sendProblem(reply, new ApiError(status, code, STATUS_CODES[status] ?? code, { hint }), (text) => text);
}
