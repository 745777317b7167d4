import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, sendProblem } from '../api/problem.ts';

/**
 * Reports whether a program sent the request. The API and MCP answer errors with a problem document, pages with a
 * sentence.
 */
export function isApi({ url }: FastifyRequest): boolean {
  return /^\/(?:api|mcp)([/?]|$)/.test(url);
}

/** The reason of an answer that is not the page or document in question. */
interface Refusal {
  code: string;
  detail: string;
  hint: string;
}

const MAX_SHOWN_PATH = 200;

/** Returns method and path of a request, without its query, which may have a token. */
export function placeOf({ method, url }: FastifyRequest): string {
  return `${method} ${url.replace(/\?.*$/s, '').slice(0, MAX_SHOWN_PATH)}`;
}

/** Answers a request that reaches no page: with a problem for a program, else with the reason. */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { code, detail, hint }: Refusal,
): FastifyReply {
  if (!isApi(request)) return reply.code(status).send({ error: code, hint });
  return sendProblem(reply, new ApiError(status, code, detail, { hint }), (text) => text);
}
