import { once } from 'node:events';
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { afterEach } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import type { HealthProbe } from '../../../src/daemon/http/probe.ts';
import { type HttpServer, type HttpServerOptions, startHttp } from '../../../src/daemon/http/server.ts';
import { MetricEvents } from '../../../src/wiring/metric-events.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { MEASURED, PAGES } from './measured.ts';

// cspell:ignore tökén

export const TOKEN = 'a-long-tökén-of-this-test';
export const logger = createLogger({ level: 'silent' });
export const COUNTS = { waiting: 1, active: 2, delayed: 3, completed: 4, failed: 5 };

/** A daemon that has nothing to complain about, with some of it changed. */
export function probeOf(some: Partial<HealthProbe> = {}): HealthProbe {
  return {
    redisUp: () => true,
    redisFault: () => null,
    ...{ writeFault: () => null, waitingSince: () => null, maxToleratedStale: 0 },
    freshness: () => [{ workspaceId: 'ws-1', lastCompleteRunAtMs: NOON, staleAfterMs: 60_000, stale: false }],
    queueCounts: async () => ({ sync: COUNTS }),
    openAlerts: () => [{ severity: 'critical', count: 7 }],
    outbox: () => ({ pending: 8, held: 7, dead: 9 }),
    runs: () => [{ workspaceId: 'ws-1', status: 'applied', count: 10, seconds: 2.5, pages: 30, records: 40 }],
    onRun: (listener) => listener(2.5),
    publishing: () => null,
    ...some,
  };
}

const servers: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

/** The daemon's pages on a port of their own, until the test ends. */
export async function serve(some: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const defaults = {
    host: '127.0.0.1',
    port: 0,
    token: () => TOKEN,
    openMetrics: () => false,
    version: '1.2.3',
    probe: probeOf(),
    measured: { ...MEASURED, metricEvents: new MetricEvents() },
    queues: [],
  };
  const server = await startHttp({ ...PAGES, ...defaults, logger, ...some });
  servers.push(server);
  return server;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  agent?: Agent;
}

/** What the pages answer somebody who has the token. */
export function ask(server: HttpServer, path: string, { headers, ...question }: Question = {}): Promise<Answer> {
  return askAsStranger(server, path, { ...question, headers: { ...bearer(TOKEN), ...headers } });
}

export async function askAsStranger(server: HttpServer, path: string, question: Question = {}): Promise<Answer> {
  const sent = request(`${server.url}${path}`, question).end();
  const [response] = await once(sent, 'response');
  let body = '';
  for await (const chunk of response.setEncoding('utf8')) body += chunk;
  return { status: response.statusCode, headers: response.headers, body };
}

export const basic = (pair: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
});
/** Header values are bytes; node takes them as latin1. */
export const bearer = (token: string): Record<string, string> => ({
  authorization: `Bearer ${Buffer.from(token).toString('latin1')}`,
});
