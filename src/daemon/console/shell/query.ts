import type { FastifyRequest } from 'fastify';

type Query = Pick<FastifyRequest, 'query'>;

/** Returns a parameter of an address without surrounding spaces; undefined if it is missing, empty or given twice. */
export function textOf({ query }: Query, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
}

const MAX_PAGE = 10_000;

/** Returns the number of the page of a list, from 1. */
export function pageNumber(request: Query): number {
  const text = textOf(request, 'page') ?? '1';
  return /^\d{1,5}$/.test(text) ? Math.min(MAX_PAGE, Math.max(1, Number(text))) : 1;
}
