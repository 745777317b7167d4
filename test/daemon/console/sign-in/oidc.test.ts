import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '../../../../src/config/load.ts';
import { systemClock } from '../../../../src/core/clock.ts';
import { OidcProvider } from '../../../../src/daemon/console/sign-in/oidc/oidc-provider.ts';
import { copiesOf } from '../../../commands/world.ts';
import { ledgerOfOperations } from '../../../operations/ledger-of-operations.ts';
import { rejection } from '../../../support/rejection.ts';
import { Visitor } from '../served-console.ts';
import { CLIENT, oidcSettings, serveWithProvider, startSignInProvider, workspacesOf } from './sign-in-provider.ts';

const world = copiesOf(ledgerOfOperations);
const HOUR_MS = 3_600_000;

const whoOf = (body: string): string | undefined =>
  /<span>([^<]* \((?:read|operate|finance)\))<\/span>/.exec(body)?.[1];

describe('sign-in over OpenID Connect', () => {
  it('links to the provider, signs in with the largest role of the groups, and returns to the page', async () => {
    const { provider, served, begin, signIn } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    const refused = await visitor.get('/tenants?sort=change');
    expect(refused.status).toBe(401);
    expect(refused.body).toContain(`href="/sign-in/provider?next=${encodeURIComponent('/tenants?sort=change')}"`);
    expect(refused.body).toContain(`Sign in with ${new URL(provider.issuer).host}`);
    // Nothing asks the provider before somebody signs in.
    expect(provider.requests).toEqual([]);
    const address = new URL(await begin(visitor, '/tenants?sort=change'));
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: CLIENT.id,
      redirect_uri: `${served.url}/sign-in/callback`,
      scope: 'openid profile groups',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    const answer = await visitor.get(await provider.answer('ada', address.href));
    expect([answer.status, answer.headers.location]).toEqual([303, '/tenants?sort=change']);
    expect(answer.headers['set-cookie']?.at(-1)).toMatch(
      /^usage_ledger_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/,
    );
    expect(whoOf((await visitor.get('/')).body)).toBe('Ada Lovelace (finance)');
    for (const [account, who] of Object.entries({ otto: 'Otto Operator (operate)', rita: 'Rita Reader (read)' })) {
      const other = new Visitor(served.url);
      await signIn(other, account);
      expect(whoOf((await other.get('/')).body)).toBe(who);
    }
  });

  it('records changes with the name of the person, who cannot enter another one', async () => {
    const own = await world();
    const { served, signIn } = await serveWithProvider(own);
    const visitor = new Visitor(served.url);
    await signIn(visitor, 'otto');
    const [alert] = own.query("SELECT alert_id FROM finance_alerts WHERE state = 'firing' LIMIT 1") as {
      alert_id: string;
    }[];
    const page = `/alerts/${alert?.alert_id}`;
    expect((await visitor.get(page)).body).not.toContain('name="person"');
    await visitor.post(`${page}/acknowledge`, { person: 'Somebody Else', note: 'seen' }, { from: page });
    expect((await visitor.get(page)).body).toContain('Otto Operator (signed in)');
  });

  it('asks the userinfo endpoint for groups that the ID token does not have', async () => {
    const { served, provider, signIn } = await serveWithProvider(await world(), { smallTokens: true });
    const visitor = new Visitor(served.url);
    await signIn(visitor, 'ada');
    expect(provider.requests).toContain('GET /me');
    expect(whoOf((await visitor.get('/')).body)).toBe('Ada Lovelace (finance)');
  });

  it('lets nobody in without a group that gives a role, and says which setting would', async () => {
    const { served, signIn } = await serveWithProvider(await world());
    for (const [account, name] of Object.entries({ nick: 'Nick Nobody', gina: 'gina' })) {
      const visitor = new Visitor(served.url);
      const answer = await signIn(visitor, account);
      expect(answer.status).toBe(403);
      expect(answer.body).toContain(`You are signed in as ${name}, but none of your groups has a role here.`);
      expect(answer.body).toContain('http.oidc.roles');
      expect([visitor.cookie, (await visitor.get('/')).status]).toEqual([null, 401]);
    }
  });

  it('gives everybody a role by the group *', async () => {
    const oidc = { roles: { read: ['*'], finance: ['finance-team'] } };
    const { served, signIn } = await serveWithProvider(await world(), { oidc });
    const visitor = new Visitor(served.url);
    await signIn(visitor, 'nick');
    expect(whoOf((await visitor.get('/')).body)).toBe('Nick Nobody (read)');
  });

  it('never keeps a session id of the browser, and ends sessions after twelve hours and by signing out', async () => {
    const { served, signIn } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    visitor.cookie = `usage_ledger_session=${'a'.repeat(43)}`;
    await signIn(visitor, 'ada');
    expect(visitor.cookie).not.toContain('a'.repeat(43));
    const { cookie } = visitor;
    await visitor.post('/sign-out', {});
    visitor.cookie = cookie;
    expect((await visitor.get('/')).status).toBe(401);
    await signIn(visitor, 'ada');
    served.sessionClock.nowMs += 12 * HOUR_MS;
    expect((await visitor.get('/')).status).toBe(401);
  });

  it('follows a reload: a removed group ends the sessions it gave, the others go on', async () => {
    const own = await world();
    const { served, provider, signIn } = await serveWithProvider(own);
    const [otto, ada] = [new Visitor(served.url), new Visitor(served.url)];
    await signIn(otto, 'otto');
    await signIn(ada, 'ada');
    const reload = async (oidc: Record<string, unknown> | undefined): Promise<void> => {
      own.configure({ http: oidc === undefined ? {} : { oidc }, workspaces: workspacesOf(own) });
      await served.context.reconfigure(await loadConfig({ file: undefined, env: {}, cwd: own.folder }));
    };
    await reload(oidcSettings(provider.issuer, { roles: { finance: ['finance-team'] } }));
    expect([(await otto.get('/')).status, (await ada.get('/')).status]).toEqual([401, 200]);
    expect((await signIn(otto, 'otto')).status).toBe(403);
    await reload(undefined);
    expect((await ada.get('/')).status).toBe(401);
    expect((await ada.get('/sign-in')).body).not.toContain('/sign-in/provider');
    expect((await ada.get('/sign-in/provider')).headers.location).toBe('/sign-in');
  });
});

describe('attacks on the sign-in over OpenID Connect', () => {
  /** Asserts that an answer signs nobody in and says why. */
  const expectRefused = async (visitor: Visitor, path: string, reason: string): Promise<void> => {
    const answer = await visitor.get(path);
    expect([answer.status, answer.body.includes(reason) ? reason : answer.body]).toEqual([401, reason]);
    expect((await visitor.get('/')).status).toBe(401);
  };

  it('refuses an ID token with another nonce', async () => {
    const { served, provider, begin } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    const address = new URL(await begin(visitor));
    address.searchParams.set('nonce', 'another-nonce-of-an-attacker');
    await expectRefused(
      visitor,
      await provider.answer('ada', address.href),
      'is not valid (OAUTH_JWT_CLAIM_COMPARISON',
    );
  });

  it('refuses an answer that was used before, its code in another sign-in, and its state', async () => {
    const { served, provider, begin } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    const first = await provider.answer('ada', await begin(visitor));
    const { cookie } = visitor;
    expect((await visitor.get(first)).status).toBe(303);
    const thief = new Visitor(served.url);
    thief.cookie = cookie;
    await expectRefused(thief, first, 'This sign-in has expired, was used before');
    const second = new URL(await provider.answer('rita', await begin(thief)), served.url);
    const code = new URL(first, served.url).searchParams.get('code') ?? '';
    const withOldCode = new URL(second);
    withOldCode.searchParams.set('code', code);
    await expectRefused(thief, `${withOldCode.pathname}${withOldCode.search}`, 'refused the sign-in (invalid_grant)');
    const third = new Visitor(served.url);
    await begin(third);
    await expectRefused(third, `${second.pathname}${second.search}`, 'is not valid (OAUTH_INVALID_RESPONSE');
  });

  it('refuses an answer without the cookie of its browser, so that nobody is signed in as somebody else', async () => {
    const { served, provider, begin } = await serveWithProvider(await world());
    const attacker = new Visitor(served.url);
    const answer = await provider.answer('ada', await begin(attacker));
    await expectRefused(new Visitor(served.url), answer, 'begun in another browser');
  });

  it('refuses an answer after ten minutes', async () => {
    const { served, provider, begin } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    const answer = await provider.answer('ada', await begin(visitor));
    served.sessionClock.nowMs += 600_000;
    await expectRefused(visitor, answer, 'This sign-in has expired');
  });

  it('refuses an answer of another issuer, and one with an error, whose text it does not repeat', async () => {
    const { served, provider, begin } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    const answer = new URL(await provider.answer('ada', await begin(visitor)), served.url);
    answer.searchParams.set('iss', 'https://evil.example');
    await expectRefused(visitor, `${answer.pathname}${answer.search}`, 'is not valid (OAUTH_INVALID_RESPONSE');
    const state = new URL(await begin(visitor)).searchParams.get('state') ?? '';
    const error = { error: 'access_denied', error_description: 'call +1 555', state, iss: provider.issuer };
    const refused = await visitor.get(`/sign-in/callback?${new URLSearchParams(error)}`);
    expect(refused.status).toBe(401);
    expect(refused.body).toContain('refused the sign-in (access_denied)');
    expect(refused.body).toContain('Ask the operator of the sign-in provider for access to this program');
    expect(refused.body).not.toContain('+1 555');
  });

  it('refuses ID tokens that have expired, are for another client, or were changed', async () => {
    const changes: Record<string, (payload: Record<string, unknown>) => void> = {
      OAUTH_JWT_TIMESTAMP_CHECK: (payload) => Object.assign(payload, { exp: Math.floor(Date.now() / 1000) - 120 }),
      OAUTH_JWT_CLAIM_COMPARISON: (payload) => Object.assign(payload, { aud: 'another-program' }),
      OAUTH_INVALID_RESPONSE: (payload) => Object.assign(payload, { groups: ['finance-team'] }),
    };
    const { served, provider, begin } = await serveWithProvider(await world());
    for (const [code, change] of Object.entries(changes)) {
      const visitor = new Visitor(served.url);
      const answer = await provider.answer('rita', await begin(visitor));
      provider.intercept = tokensChangedBy(change, provider.issuer);
      await expectRefused(visitor, answer, `is not valid (${code}`);
      provider.intercept = () => false;
    }
  });

  it('returns to pages of this site only', async () => {
    const { served, signIn } = await serveWithProvider(await world());
    for (const next of ['//evil.example', '/\\evil.example', 'https://evil.example/', 'javascript:1', '']) {
      const answer = await signIn(new Visitor(served.url), 'rita', next);
      expect([next, answer.status, answer.headers.location]).toEqual([next, 303, '/']);
    }
  });

  it('limits the sign-ins of one address to ten a minute', async () => {
    const { served } = await serveWithProvider(await world());
    const visitor = new Visitor(served.url);
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 12; attempt += 1)
      statuses.push((await visitor.get('/sign-in/callback?code=1')).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429, 429]);
  });
});

describe('a provider that does not answer', () => {
  it('is no reason not to serve: tokens work, the page says what to do, and the next sign-in asks it again', async () => {
    const own = await world();
    const { served, provider, signIn } = await serveWithProvider(own);
    let isAway = true;
    provider.intercept = (_request, response) => {
      if (isAway) response.destroy();
      return isAway;
    };
    const visitor = new Visitor(served.url);
    const answer = await visitor.get('/sign-in/provider');
    expect(answer.status).toBe(503);
    expect(answer.body).toContain(`Cannot reach the sign-in provider ${provider.issuer}: the connection failed`);
    expect(answer.body).toContain('Try again in a minute, or sign in with a token.');
    const withToken = await served.signIn('finance');
    expect((await withToken.get('/')).status).toBe(200);
    isAway = false;
    expect((await signIn(visitor, 'ada')).status).toBe(303);
  });

  it('is given up on after five seconds', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const waits: number[] = [];
    const clock = {
      ...systemClock,
      after: (ms: number, late: () => void) => {
        waits.push(ms);
        return systemClock.after(10, late);
      },
    };
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = { ...SETTINGS, issuer };
    const provider = new OidcProvider(settings, { clock, proxy: null });
    onTestFinished(() => provider.close());
    const error = await rejection(provider.begin('http://127.0.0.1/sign-in/callback', '/'));
    expect(waits).toContain(5000);
    expect(error).toMatchObject({
      code: 'oidc_provider',
      message: expect.stringContaining('no complete response within 5000 ms'),
    });
  });

  it('is refused if its own document names another issuer, or addresses without TLS elsewhere', async () => {
    const provider = await startSignInProvider();
    provider.register('http://127.0.0.1:1');
    const localhost = provider.issuer.replace('127.0.0.1', 'localhost');
    const foreign = new OidcProvider({ ...SETTINGS, issuer: localhost }, { clock: systemClock, proxy: null });
    onTestFinished(() => foreign.close());
    const error = await rejection(foreign.begin('http://127.0.0.1/sign-in/callback', '/'));
    expect(error).toMatchObject({ message: expect.stringContaining(localhost) });
    const elsewhere = 'http://login.example.com';
    provider.intercept = (request, response) => {
      if (!request.url?.includes('openid-configuration')) return false;
      const endpoints = { authorization_endpoint: `${elsewhere}/auth`, token_endpoint: `${elsewhere}/token` };
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ issuer: provider.issuer, ...endpoints, jwks_uri: `${elsewhere}/jwks` }));
      return true;
    };
    const plain = new OidcProvider({ ...SETTINGS, issuer: provider.issuer }, { clock: systemClock, proxy: null });
    onTestFinished(() => plain.close());
    const refused = await rejection(plain.begin('http://127.0.0.1/sign-in/callback', '/'));
    expect(refused).toMatchObject({ code: 'oidc_provider', message: expect.stringContaining(elsewhere) });
  });
});

const SETTINGS = {
  clientId: CLIENT.id,
  clientSecret: CLIENT.secret,
  scopes: ['openid'],
  nameClaim: 'name',
  roles: { claim: 'groups', finance: [], operate: [], read: ['*'] },
  ca: null,
};

/** Lets the provider answer, and changes the payload of the ID token on its way. */
function tokensChangedBy(change: (payload: Record<string, unknown>) => void, issuer: string) {
  return async (request: IncomingMessage, response: ServerResponse) => {
    if (request.url !== '/token' || request.headers['x-passed'] !== undefined) return false;
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const headers: Record<string, string> = { ...(request.headers as Record<string, string>), 'x-passed': '1' };
    delete headers['transfer-encoding'];
    delete headers.connection;
    const answer = await fetch(`${issuer}/token`, { method: 'POST', headers, body: Buffer.concat(parts) });
    const tokens = (await answer.json()) as { id_token: string };
    const [head, body = '', signature] = tokens.id_token.split('.');
    const payload = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>;
    change(payload);
    tokens.id_token = [head, Buffer.from(JSON.stringify(payload)).toString('base64url'), signature].join('.');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(tokens));
    return true;
  };
}
