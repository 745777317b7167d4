import type { FastifyRequest } from 'fastify';
import { addPeriods, isPeriod } from '../../../core/period.ts';
import { ApiError } from '../../api/problem.ts';

/** Returns the month in the path of a request. Throws `unknown_period` if the path has no valid month. */
export function periodOf({ params }: Pick<FastifyRequest, 'params'>): string {
  const { period } = params as { period: string };
  if (isPeriod(period) && addPeriods(period, 1) > period) return period;
  throw new ApiError(404, 'unknown_period', `${JSON.stringify(period)} is not a month`, {
    hint: 'write the month as YYYY-MM',
  });
}
