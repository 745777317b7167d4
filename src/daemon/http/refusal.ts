import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, sendProblem } from '../api/problem.ts';

/**
 * Returns true if the request is for the API or MCP. They answer errors with a problem document, pages with a short
 * text.
 */
export function isApi({ url }: FastifyRequest): boolean {
  return /^\/(?:api|mcp)([/?]|$)/.test(url);
}

/** Why a request is refused, as the answer states it. */
interface Refusal {
  code: string;
  detail: string;
  hint: string;
}

const MAX_SHOWN_PATH = 200;

/** Returns the method and the path of a request. The query is omitted, because it may contain a token. */
export function placeOf({ method, url }: FastifyRequest): string {
  return `${method} ${url.replace(/\?.*$/s, '').slice(0, MAX_SHOWN_PATH)}`;
}

/** Refuses a request: with a problem document for the API and MCP, else with the code and the hint. */
export function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { code, detail, hint }: Refusal,
): FastifyReply {
  if (!isApi(request)) return reply.code(status).send({ error: code, hint });
  return sendProblem(reply, new ApiError(status, code, detail, { hint }), (text) => text);
}
