import { once } from 'node:events';
import { type Agent, request } from 'node:http';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { Role } from '../../../src/core/text/roles.ts';
import { startHttp } from '../../../src/daemon/http/server.ts';
import { Context } from '../../../src/wiring/context.ts';
import { MetricEvents } from '../../../src/wiring/metric-events.ts';
import { parseJson, type World } from '../../commands/world.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { MEASURED, PAGES } from '../http/measured.ts';
import { probeOf } from '../http/served.ts';

export const TOKENS: Config['http']['tokens'] = (['read', 'operate', 'finance'] as const).map((role) => {
  return { name: `${role}-bot`, role, token: `${role}-token-of-this-test-123456` };
});
export const PAGES_TOKEN = 'the-token-of-the-pages-123456';

export interface ApiAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  /** The document, with integers beyond 2^53 as bigints. */
  json: ReturnType<typeof parseJson>;
}

export interface ApiQuestion {
  method?: string;
  /** The role of the token; null: without one. */
  role?: Role | null;
  headers?: Record<string, string>;
  body?: unknown;
  agent?: Agent;
}

export interface ServedApi {
  url: string;
  context: Context;
  ask(path: string, question?: ApiQuestion): Promise<ApiAnswer>;
}

/** Serves the API over the ledger of a world, until the test ends. */
export async function serveApi(
  world: Pick<World, 'folder' | 'clock'>,
  { requestsPerMinute = 1200, tokens = TOKENS }: { requestsPerMinute?: number; tokens?: typeof TOKENS } = {},
): Promise<ServedApi> {
  const config = await loadConfig({ file: undefined, env: {}, cwd: world.folder });
  const logger = createLogger({ level: 'silent' });
  const clock = clockThat(() => world.clock.nowMs);
  const context = new Context(config, { clock, logger, openWriter: openInProcessWriter });
  const server = await startHttp({
    ...PAGES,
    measured: { ...MEASURED, metricEvents: new MetricEvents() },
    host: '127.0.0.1',
    port: 0,
    token: () => PAGES_TOKEN,
    apiTokens: () => tokens,
    openMetrics: () => false,
    logger,
    version: '1.2.3',
    probe: probeOf(),
    queues: [],
    api: { context, clock, version: '1.2.3', requestsPerMinute },
  });
  onTestFinished(async () => {
    await server.close();
    await context.close();
  });
  return { url: server.url, context, ask: (path, question) => ask(server.url, path, question) };
}

async function ask(
  url: string,
  path: string,
  { method = 'GET', role = 'read', headers = {}, body, agent }: ApiQuestion = {},
): Promise<ApiAnswer> {
  const token = TOKENS.find((known) => known.role === role)?.token;
  const sent = request(`${url}/api${path}`, {
    method,
    ...(agent === undefined ? {} : { agent }),
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  const isJson = /json;|json$/.test(String(response.headers['content-type'] ?? '')) && text !== '';
  const isLines = String(response.headers['content-type'] ?? '').includes('ndjson');
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: isJson && !isLines ? parseJson(text) : null,
  };
}

/** The address of an operation with these values. */
export function addressOf(path: string, input: Readonly<Record<string, string>>): string {
  const rest = { ...input };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => {
    const value = rest[field] ?? '';
    delete rest[field];
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams(rest).toString();
  return `/v1${filled}${query === '' ? '' : `?${query}`}`;
}
