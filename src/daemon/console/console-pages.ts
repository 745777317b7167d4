import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../core/clock.ts';
import type { Scope } from '../../operations/operation.ts';
import type { Context } from '../../wiring/context.ts';
import type { SlowReads } from '../api/slow-reads.ts';
import type { Measurements } from '../http/measurements.ts';
import type { HealthProbe } from '../http/probe.ts';
import type { ReportMaker } from '../http/reports/report-maker.ts';
import type { Visit } from './shell/visit.ts';
import type { SignInOptions } from './sign-in/sign-in-options.ts';

export interface ConsoleOptions extends SignInOptions {
  context: Context;
  probe: HealthProbe;
  reports: ReportMaker;
  measured: Measurements;
  version: string;
  /** The maximum number of pages and forms that one person may request per minute. */
  pagesPerMinute?: number;
  /** The clock by which sessions and uploaded files expire. */
  sessionClock?: Pick<Clock, 'monotonic'>;
  /** Runs, outside this thread, reads that take seconds, such as the verification before a close. */
  slowReads: SlowReads;
  /** Queues a sync; absent if no queue is running. */
  enqueueSync?: Scope['enqueueSync'];
}

/** The options and helper functions that every page uses. */
export interface ConsolePages extends ConsoleOptions {
  visitOf(request: FastifyRequest): Visit;
  scopeOf(request: FastifyRequest): Scope;
}
