import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { onTestFinished } from 'vitest';
import { loadConfig } from '../../../src/config/load.ts';
import type { Config } from '../../../src/config/types.ts';
import { createLogger } from '../../../src/core/logger.ts';
import type { Role } from '../../../src/core/text/roles.ts';
import { type HttpServerOptions, startHttp } from '../../../src/daemon/http/server.ts';
import { Context } from '../../../src/wiring/context.ts';
import { MetricEvents } from '../../../src/wiring/metric-events.ts';
import type { World } from '../../commands/world.ts';
import { openInProcessWriter } from '../../support/in-process-writer.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { MEASURED, PAGES } from '../http/measured.ts';
import { probeOf } from '../http/served.ts';

export const TOKENS: Config['http']['tokens'] = (['read', 'operate', 'finance'] as const).map((role) => {
  return { name: `${role}-token`, role, token: `${role}-token-of-the-console-123456` };
});
export const PAGES_TOKEN = 'the-token-of-the-pages-123456';

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  form?: Record<string, string | string[]>;
}

/** A browser without a screen: it keeps cookies, reads form tokens and sends forms as a browser does. */
export class Visitor {
  cookie: string | null = null;
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return this.ask(path, { headers });
  }

  /** Sends a form with the token of the session, as the page at `from` has it. */
  async post(
    path: string,
    form: Record<string, string | string[]>,
    { from = '/', headers = {} } = {},
  ): Promise<Answer> {
    const page = await this.get(from);
    const [, token = ''] = /name="form_token" value="([^"]*)"/.exec(page.body) ?? [];
    return this.ask(path, { method: 'POST', form: { form_token: token, ...form }, headers });
  }

  async ask(path: string, { method = 'GET', headers = {}, form }: Question = {}): Promise<Answer> {
    const fields = Object.entries(form ?? {}).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
    const sent = request(`${this.url}${path}`, {
      method,
      headers: {
        accept: 'text/html',
        ...(this.cookie === null ? {} : { cookie: this.cookie }),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded', origin: this.url }),
        ...headers,
      },
    });
    sent.end(form === undefined ? undefined : new URLSearchParams(fields as [string, string][]).toString());
    const [response] = await once(sent, 'response');
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += chunk;
    const [cookie] = response.headers['set-cookie'] ?? [];
    if (cookie !== undefined) this.cookie = /Max-Age=0/.test(cookie) ? null : (cookie.split(';')[0] ?? null);
    return { status: response.statusCode, headers: response.headers, body };
  }
}

export interface ServedConsole {
  url: string;
  context: Context;
  /** Milliseconds that have passed for the sessions. */
  sessionClock: { nowMs: number };
  /** Returns a browser that has signed in with the token of a role. */
  signIn(role?: Role, person?: string): Promise<Visitor>;
}

/** Serves the console over the ledger of a world, until the test ends. */
export async function serveConsole(world: World, some: Partial<HttpServerOptions> = {}): Promise<ServedConsole> {
  const config = await loadConfig({ file: undefined, env: {}, cwd: world.folder });
  const logger = createLogger({ level: 'silent' });
  const clock = clockThat(() => world.clock.nowMs);
  const context = new Context(config, { clock, logger, openWriter: openInProcessWriter });
  const sessionClock = { nowMs: 0 };
  const server = await startHttp({
    ...PAGES,
    measured: { ...MEASURED, metricEvents: new MetricEvents() },
    host: '127.0.0.1',
    port: 0,
    token: () => PAGES_TOKEN,
    apiTokens: () => TOKENS,
    openMetrics: () => false,
    logger,
    version: '1.2.3',
    probe: probeOf(),
    queues: [],
    console: { context, publicUrl: () => null },
    sessionClock: { monotonic: () => sessionClock.nowMs },
    ...some,
  });
  onTestFinished(async () => {
    await server.close();
    await context.close();
  });
  return {
    url: server.url,
    context,
    sessionClock,
    async signIn(role = 'finance', person = 'Ada Lovelace') {
      const visitor = new Visitor(server.url);
      const token = TOKENS.find((known) => known.role === role)?.token ?? '';
      await visitor.ask('/sign-in', { method: 'POST', form: { token, person } });
      return visitor;
    },
  };
}
