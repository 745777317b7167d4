import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it } from 'vitest';
import { ROLES, type Role } from '../../../../src/core/text/roles.ts';
import { copiesOf, type World } from '../../../commands/world.ts';
import { ledgerOfOperations } from '../../../operations/ledger-of-operations.ts';
import { PAGES_TOKEN } from '../../http/serve-world.ts';
import { type ServedConsole, serveConsole, TOKENS, Visitor } from '../served-console.ts';
import { serveWithProvider } from './sign-in-provider.ts';

const world = copiesOf(ledgerOfOperations);
const SESSION = /^usage_ledger_session=[\w-]{43}$/;

interface Route {
  method: string;
  url: string;
  access: string | undefined;
  role: Role | undefined;
}

interface WalkedConsole extends ServedConsole {
  own: World;
  /** The forms of the console, with the role that each declares. */
  forms: (Route & { path: string })[];
  /** The pages that people open. */
  pages: string[];
}

/** Serves the console and lists its routes as the server registered them, so that a new one cannot be forgotten here. */
async function walk(): Promise<WalkedConsole> {
  const routes: Route[] = [];
  const onServer = (message: unknown): void => {
    (message as { fastify: FastifyInstance }).fastify.addHook('onRoute', ({ method, url, config = {} }) => {
      for (const each of [method].flat()) routes.push({ method: each, url, access: config.access, role: config.role });
    });
  };
  subscribe('fastify.initialization', onServer);
  const own = await world();
  const served = await serveConsole(own, {}, { pagesPerMinute: 10_000 }).finally(() =>
    unsubscribe('fastify.initialization', onServer),
  );
  const [alert] = own.query("SELECT alert_id FROM finance_alerts WHERE state = 'firing' LIMIT 1") as {
    alert_id: string;
  }[];
  const [run] = own.query('SELECT run_id FROM finance_runs LIMIT 1') as { run_id: string }[];
  const values = {
    id: alert?.alert_id ?? '',
    run: run?.run_id ?? '',
    period: '2026-01',
    workspace: 'ws-1',
    tenant: 'acme',
  };
  const pathOf = ({ url }: Route): string =>
    url.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name as keyof typeof values] ?? name));
  const isForm = ({ method, access }: Route): boolean => method === 'POST' && access === 'form';
  const isPage = ({ method, url, access }: Route): boolean =>
    method === 'GET' && access !== 'open' && !/\/(?:admin|report|metrics|api|mcp)|healthz|readyz|acknowledge/.test(url);
  return {
    ...served,
    own,
    forms: routes.filter(isForm).map((route) => ({ ...route, path: pathOf(route) })),
    pages: routes.filter(isPage).map(pathOf),
  };
}

/** What a change would leave: how many rows each of its tables has. */
const stateOf = ({ own }: WalkedConsole): unknown =>
  ['alert_transitions', 'silences', 'silences WHERE ended_by IS NOT NULL', 'period_events', 'runs'].map((table) => [
    table,
    own.query(`SELECT count(*) AS n FROM ${table}`),
  ]);

const formTokenOf = async (visitor: Visitor): Promise<string> =>
  /name="form_token" value="([^"]*)"/.exec((await visitor.get('/')).body)?.[1] ?? '';

describe('forms of other sites', () => {
  it('every form is refused without the token of its session, or from another origin, and changes nothing', async () => {
    const walked = await walk();
    const { url, forms, signIn } = walked;
    expect(forms.length).toBeGreaterThan(10);
    const victim = await signIn('finance');
    const attacker = await signIn('finance', 'Mallory');
    const [own, foreign] = [await formTokenOf(victim), await formTokenOf(attacker)];
    const before = stateOf(walked);
    const attacks: [name: string, token: string | null, headers: Record<string, string>][] = [
      ['no token', null, {}],
      ['an empty token', '', {}],
      ['a guessed token', 'a'.repeat(43), {}],
      ['the token of another session', foreign, {}],
      ['another origin', own, { origin: 'https://evil.example' }],
      ['the origin null', own, { origin: 'null' }],
      ['another port of this machine', own, { origin: url.replace(/:\d+$/, ':1') }],
      ['a host that begins with this one', own, { origin: `${url}.evil.example` }],
      ['no origin, from another site', own, { origin: '', 'sec-fetch-site': 'cross-site' }],
      ['no origin, from another port', own, { origin: '', 'sec-fetch-site': 'same-site' }],
      ['no origin at all', own, { origin: '' }],
    ];
    for (const { path } of forms) {
      const answers = attacks.map(async ([name, token, { origin = url, ...headers }]) => {
        const form = { id: 'x', note: 'x', ...(token === null ? {} : { form_token: token }) };
        const isNamed = origin !== '';
        const question = {
          method: 'POST',
          form,
          headers: isNamed ? { ...headers, origin } : headers,
          withoutOrigin: !isNamed,
        };
        return [path, name, (await victim.ask(path, question)).status];
      });
      expect(await Promise.all(answers)).toEqual(attacks.map(([name]) => [path, name, 403]));
    }
    expect(stateOf(walked)).toEqual(before);
  });

  it('every form is refused without a session, though a token or the cookie of another session comes along', async () => {
    const walked = await walk();
    const stranger = new Visitor(walked.url);
    const authorization = `Bearer ${PAGES_TOKEN}`;
    for (const { path } of walked.forms) {
      const asked = [
        await stranger.ask(path, { method: 'POST', form: { form_token: 'x' } }),
        await stranger.ask(path, { method: 'POST', form: { form_token: 'x' }, headers: { authorization } }),
        await stranger.ask(path, {
          method: 'POST',
          form: {},
          headers: { cookie: `usage_ledger_session=${'a'.repeat(43)}` },
        }),
      ];
      expect([path, ...asked.map(({ status }) => status)]).toEqual([path, 401, 403, 401]);
    }
  });

  it('no form is sent by opening an address', async () => {
    const walked = await walk();
    const visitor = await walked.signIn('finance');
    const form_token = await formTokenOf(visitor);
    const before = stateOf(walked);
    for (const { path } of walked.forms) {
      const answer = await visitor.get(`${path}?${new URLSearchParams({ form_token, note: 'x', id: 'x' })}`);
      expect([path, answer.status >= 400]).toEqual([path, true]);
    }
    expect(stateOf(walked)).toEqual(before);
  });
});

describe('roles', () => {
  it('every form declares the role that it needs, and is refused to each smaller one', async () => {
    const walked = await walk();
    const before = stateOf(walked);
    for (const role of ROLES) {
      const visitor = await walked.signIn(role);
      const form_token = await formTokenOf(visitor);
      for (const form of walked.forms) {
        expect([form.path, ROLES.includes(form.role as Role)]).toEqual([form.path, true]);
        if (ROLES.indexOf(role) >= ROLES.indexOf(form.role as Role)) continue;
        const answer = await visitor.ask(form.path, { method: 'POST', form: { form_token, id: 'x', note: 'x' } });
        expect([form.path, role, answer.status]).toEqual([form.path, role, 403]);
        expect(answer.body).toContain(`needs the role ${form.role}`);
      }
    }
    expect(stateOf(walked)).toEqual(before);
  });

  it('no page shows a form that its reader may not send', async () => {
    const { signIn, forms, pages } = await walk();
    const patterns = forms.map(({ url, role }) => ({
      role,
      path: new RegExp(`^${url.replaceAll(/:\w+/g, '[^/]+')}$`),
    }));
    for (const role of ['read', 'operate'] as const) {
      const visitor = await signIn(role);
      for (const page of pages) {
        for (const [, action = ''] of (await visitor.get(page)).body.matchAll(/ (?:form)?action="([^"?]*)/g)) {
          const needed = patterns.find(({ path }) => path.test(action))?.role ?? 'read';
          expect([page, action, ROLES.indexOf(role) >= ROLES.indexOf(needed)]).toEqual([page, action, true]);
        }
      }
    }
  });
});

describe('pages', () => {
  it('every page forbids frames, foreign scripts, sniffing and caching, and needs a sign-in', async () => {
    const { url, signIn, pages } = await walk();
    expect(pages.length).toBeGreaterThan(8);
    const visitor = await signIn('finance');
    for (const path of pages) {
      expect([path, (await new Visitor(url).get(path)).status]).toEqual([path, 401]);
      const { headers } = await visitor.get(path);
      expect([path, headers]).toEqual([
        path,
        expect.objectContaining({
          'x-frame-options': 'DENY',
          'x-content-type-options': 'nosniff',
          'cache-control': 'no-store',
          'cross-origin-resource-policy': 'same-origin',
        }),
      ]);
      const policy = String(headers['content-security-policy']);
      expect([path, policy.includes("default-src 'none'"), policy.includes("frame-ancestors 'none'")]).toEqual([
        path,
        true,
        true,
      ]);
      // A download is not shown as a page.
      if (headers['content-disposition'] !== undefined) continue;
      expect([
        path,
        policy.split('; ').filter((rule) => /^(default-src|script-src|frame-anc|base-uri|form-a)/.test(rule)),
      ]).toEqual([
        path,
        ["default-src 'none'", "script-src 'self'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'none'"],
      ]);
      expect([path, policy.includes('unsafe')]).toEqual([path, false]);
    }
  });
});

describe('sessions', () => {
  const planted = `usage_ledger_session=${'a'.repeat(43)}`;

  it('no way to sign in keeps an id that the browser brings, or the one before', async () => {
    const { served, signIn } = await serveWithProvider(await world());
    const { url } = served;
    const ways: Record<string, (visitor: Visitor) => Promise<unknown>> = {
      'the link of open': (visitor) => visitor.get(`/?token=${PAGES_TOKEN}`),
      'a token': (visitor) => visitor.ask('/sign-in', { method: 'POST', form: { token: TOKENS[0]?.token ?? '' } }),
      'the provider': (visitor) => signIn(visitor, 'ada'),
    };
    for (const [way, enter] of Object.entries(ways)) {
      const visitor = new Visitor(url);
      visitor.cookie = planted;
      await enter(visitor);
      const first = visitor.cookie;
      await enter(visitor);
      expect([way, first !== planted, visitor.cookie !== first, SESSION.test(`${visitor.cookie}`)]).toEqual([
        way,
        true,
        true,
        true,
      ]);
      const thief = new Visitor(url);
      for (const cookie of [planted, first]) {
        thief.cookie = cookie;
        expect([way, cookie, (await thief.get('/')).status]).toEqual([way, cookie, 401]);
      }
    }
  });

  it('every cookie is kept from scripts and other sites, and from plain HTTP behind a proxy with HTTPS', async () => {
    const { served, begin } = await serveWithProvider(await world());
    const headers = { 'x-forwarded-proto': 'https' };
    const set = async (ask: (visitor: Visitor) => Promise<{ headers: { 'set-cookie'?: string[] | undefined } }>) =>
      (await ask(new Visitor(served.url))).headers['set-cookie'] ?? [];
    const cookies = [
      ...(await set((visitor) => visitor.get(`/?token=${PAGES_TOKEN}`, headers))),
      ...(await set((visitor) => visitor.get('/sign-in/provider', headers))),
    ];
    expect(cookies.map((cookie) => cookie.replace(/=[\w-]{43};/, '=;'))).toEqual([
      'usage_ledger_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=43200; Secure',
      'usage_ledger_sign_in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=600; Secure',
    ]);
    expect(await begin(new Visitor(served.url))).toContain('code_challenge');
  });
});

describe('addresses to return to', () => {
  it('never lead to another site, wherever they come from', async () => {
    const { served, signIn } = await serveWithProvider(await world());
    const hostile = [
      '//evil.example',
      '///evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      'https://evil.example/',
      'https:evil.example',
      'javascript:alert(1)',
      'data:text/html,x',
      '/\t/evil.example',
      '/\r\nlocation: https://evil.example',
      '/%0d%0a//evil.example/..//evil.example',
      '/..//evil.example',
      '@evil.example',
      '.evil.example',
    ];
    const visitor = await served.signIn('operate');
    for (const next of hostile) {
      const query = new URLSearchParams({ next });
      const form = { token: TOKENS[0]?.token ?? '', next };
      const answers = [
        await visitor.get(`/sign-in?${query}`),
        await new Visitor(served.url).ask('/sign-in', { method: 'POST', form }),
        await visitor.post('/alerts/acknowledge', { back: next, id: 'x' }),
      ];
      for (const answer of answers) {
        // Only the first ten attempts of a minute reach the form.
        if (answer.status === 429) continue;
        const target = new URL(answer.headers.location ?? '', served.url);
        expect([next, answer.status, target.host]).toEqual([next, 303, new URL(served.url).host]);
      }
      const page = await new Visitor(served.url).get(`/sign-in?${query}`);
      const [, kept = ''] = /name="next" value="([^"]*)"/.exec(page.body) ?? [];
      expect([next, new URL(kept.replaceAll('&amp;', '&'), served.url).host]).toEqual([next, new URL(served.url).host]);
    }
    const back = await signIn(new Visitor(served.url), 'rita', '//evil.example');
    expect(back.headers.location).toBe('/');
    const link = await new Visitor(served.url).get(`//evil.example/?token=${PAGES_TOKEN}`);
    expect(new URL(link.headers.location ?? '', served.url).host).toBe(new URL(served.url).host);
  });
});
