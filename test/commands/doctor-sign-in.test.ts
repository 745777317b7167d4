import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { examine } from './examine.ts';
import { createWorld, FIRST, type World, workspaceSettings } from './world.ts';

/** A provider on this machine that answers as `reply` says. Returns its issuer. */
async function startProvider(reply: (issuer: string) => { status?: number; body: object | string }): Promise<string> {
  const server = createServer((request, response) => {
    const isDocument = request.url === '/realms/ours/.well-known/openid-configuration';
    const { status = 200, body } = isDocument ? reply(issuer) : { status: 404, body: 'nothing here' };
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/realms/ours`;
  return issuer;
}

function documentOf(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
  };
}

async function signInCheck(world: World, issuer: string) {
  world.configure({
    workspaces: [workspaceSettings(world.sandbox, FIRST)],
    http: { port: 0, oidc: { issuer, client_id: 'usage-ledger', roles: { read: ['*'] } } },
  });
  const { checks } = await examine(world);
  return checks.filter(({ check }) => check === 'sign-in');
}

it('a provider that is ready for sign-ins passes', async () => {
  const world = await createWorld(FIRST);
  const issuer = await startProvider((own) => ({ body: documentOf(own) }));
  expect(await signInCheck(world, issuer)).toMatchObject([{ status: 'ok', message: expect.stringContaining(issuer) }]);
});

it.each<[string, (issuer: string) => { status?: number; body: object | string }, message: string, remedy: string]>([
  [
    'has another issuer',
    (own) => ({ body: { ...documentOf(own), issuer: `${own}/` } }),
    "the provider's issuer is ISSUER/, but `http.oidc.issuer` is ISSUER",
    'set `http.oidc.issuer: ISSUER/`',
  ],
  [
    'sends passwords in the clear',
    (own) => ({ body: { ...documentOf(own), token_endpoint: 'http://login.example.com/token' } }),
    "the provider's token_endpoint is http://login.example.com/token",
    'https://',
  ],
  ['lacks its keys', (own) => ({ body: { ...documentOf(own), jwks_uri: undefined } }), 'it lacks jwks_uri', 'issuer'],
  ['is a web page', () => ({ body: '<html>Sign in</html>' }), 'it lacks JSON', 'issuer'],
  ['has moved', () => ({ status: 404, body: 'not found' }), 'answers with status 404', 'http.oidc.issuer'],
])('a provider that %s fails with a remedy', async (_what, reply, message, remedy) => {
  const world = await createWorld(FIRST);
  const issuer = await startProvider(reply);
  const [found] = await signInCheck(world, issuer);
  expect(found?.status).toBe('fail');
  expect(found?.message).toContain(message.replaceAll('ISSUER', issuer));
  expect(found?.remedy).toContain(remedy.replaceAll('ISSUER', issuer));
});

it('a provider that is away fails with its address', async () => {
  const world = await createWorld(FIRST);
  expect(await signInCheck(world, 'http://127.0.0.1:9')).toMatchObject([
    { status: 'fail', message: expect.stringMatching(/http:\/\/127\.0\.0\.1:9: .*ECONNREFUSED/) },
  ]);
});

it('nothing is checked without `http.oidc`', async () => {
  const world = await createWorld(FIRST);
  expect((await examine(world)).checks.filter(({ check }) => check === 'sign-in')).toEqual([]);
});
