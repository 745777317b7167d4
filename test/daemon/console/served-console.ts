import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type ClientRequest, type IncomingHttpHeaders, request } from 'node:http';
import type { Config } from '../../../src/config/types.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Role } from '../../../src/core/text/roles.ts';
import type { HttpServerOptions } from '../../../src/daemon/http/server.ts';
import type { EnqueueSync } from '../../../src/operations/operation.ts';
import type { Context } from '../../../src/wiring/context.ts';
import type { World } from '../../commands/world.ts';
import { queueOfRuns } from '../api/served-api.ts';
import { serveWorld } from '../http/serve-world.ts';

export const TOKENS: Config['http']['tokens'] = (['read', 'operate', 'finance'] as const).map((role) => {
  return { name: `${role}-token`, role, token: `${role}-token-of-the-console-123456` };
});

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Question {
  method?: string;
  headers?: Record<string, string>;
  form?: Record<string, string | string[]>;
  /** The form comes without the header `Origin`, as from a program. */
  withoutOrigin?: boolean;
}

/** A browser without a screen: it keeps cookies, reads form tokens and sends forms as a browser does. */
export class Visitor {
  readonly url: string;
  readonly #cookies = new Map<string, string>();

  constructor(url: string) {
    this.url = url;
  }

  /** The `Cookie` header of its requests; null without cookies. */
  get cookie(): string | null {
    return this.#cookies.size === 0 ? null : [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  set cookie(header: string | null) {
    this.#cookies.clear();
    for (const pair of header?.split('; ') ?? []) this.#keep(pair);
  }

  #keep(setCookie: string): void {
    const [pair = ''] = setCookie.split(';');
    const [name = '', value = ''] = pair.split('=');
    if (/Max-Age=0/.test(setCookie)) this.#cookies.delete(name);
    else this.#cookies.set(name, value);
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

  /** Sends a form with a file, as the page at `from` has it. */
  async upload(
    path: string,
    form: Record<string, string>,
    file: { name: string; text: string } | null,
    { from = '/', headers = {} } = {},
  ): Promise<Answer> {
    const page = await this.get(from);
    const [, token = ''] = /name="form_token" value="([^"]*)"/.exec(page.body) ?? [];
    const fields = new FormData();
    for (const [name, value] of Object.entries({ form_token: token, ...form })) fields.append(name, value);
    fields.append('file', new Blob([file?.text ?? '']), file?.name ?? '');
    const encoded = new Response(fields);
    const type = encoded.headers.get('content-type') ?? '';
    const sent = request(`${this.url}${path}`, {
      method: 'POST',
      headers: {
        accept: 'text/html',
        ...(this.cookie === null ? {} : { cookie: this.cookie }),
        'content-type': type,
        origin: this.url,
        ...headers,
      },
    });
    sent.end(Buffer.from(await encoded.arrayBuffer()));
    return this.#answer(sent);
  }

  /** Saves a download to a file. */
  async save(path: string, file: string): Promise<void> {
    const sent = request(`${this.url}${path}`, { headers: { cookie: this.cookie ?? '' } });
    sent.end();
    const [response] = await once(sent, 'response');
    await writeFile(file, response);
  }

  async ask(
    path: string,
    { method = 'GET', headers = {}, form, withoutOrigin = false }: Question = {},
  ): Promise<Answer> {
    const fields = Object.entries(form ?? {}).flatMap(([name, value]) => [value].flat().map((each) => [name, each]));
    const sent = request(path.startsWith('http') ? path : `${this.url}${path}`, {
      method,
      headers: {
        accept: 'text/html',
        ...(this.cookie === null ? {} : { cookie: this.cookie }),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...(form === undefined || withoutOrigin ? {} : { origin: this.url }),
        ...headers,
      },
    });
    sent.end(form === undefined ? undefined : new URLSearchParams(fields as [string, string][]).toString());
    return this.#answer(sent);
  }

  async #answer(sent: ClientRequest): Promise<Answer> {
    const [response] = await once(sent, 'response');
    let body = '';
    for await (const chunk of response.setEncoding('utf8')) body += chunk;
    for (const cookie of response.headers['set-cookie'] ?? []) this.#keep(cookie);
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

/** The API beside the console, which links to its files. */
function apiOf(context: Context, clock: Clock): HttpServerOptions['api'] {
  return { context, clock, version: '1.2.3', requestsPerMinute: 1200, enqueueSync: queueOfRuns() };
}

/** Serves the console over the ledger of a world, until the test ends. */
export async function serveConsole(
  world: Pick<World, 'folder' | 'clock'>,
  some: Partial<HttpServerOptions> = {},
  { withApi = false, ...settings }: { withApi?: boolean; enqueueSync?: EnqueueSync; pagesPerMinute?: number } = {},
): Promise<ServedConsole> {
  const sessionClock = { nowMs: 0 };
  const { url, context } = await serveWorld(world, (own, clock) => ({
    apiTokens: () => TOKENS,
    console: { context: own, publicUrl: () => null, ...settings },
    ...(withApi ? { api: apiOf(own, clock) } : {}),
    sessionClock: { monotonic: () => sessionClock.nowMs },
    ...some,
  }));
  return {
    url,
    context,
    sessionClock,
    async signIn(role = 'finance', person = 'Ada Lovelace') {
      const visitor = new Visitor(url);
      const token = TOKENS.find((known) => known.role === role)?.token ?? '';
      await visitor.ask('/sign-in', { method: 'POST', form: { token, person } });
      return visitor;
    },
  };
}
