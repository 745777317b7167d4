import { expect, test } from 'vitest';
import { askAsStranger as ask, basic, bearer, serve, TOKEN } from './served.ts';

// cspell:ignore detrics

test('every page except /healthz and /readyz requires the token, as Bearer or as a password', async () => {
  const server = await serve();
  for (const path of ['/healthz', '/readyz']) expect((await ask(server, path)).status).toBe(200);
  for (const path of [
    '/',
    '/report',
    '/metrics',
    '/admin/queues',
    '/admin/queues/api/queues',
    '/admin/queues/static/favicon.ico',
    '/nowhere',
  ]) {
    const { status, headers } = await ask(server, path);
    expect([path, status]).toEqual([path, 401]);
    // Node joins the two challenges; the second makes a browser ask for a password.
    expect(headers['www-authenticate']).toMatch(/^Bearer .*, Basic /);
  }
  for (const headers of [bearer(TOKEN), basic(`anybody:${TOKEN}`), basic(`:${TOKEN}`)]) {
    expect((await ask(server, '/metrics', { headers })).status).toBe(200);
    expect((await ask(server, '/admin/queues', { headers })).status).toBe(200);
  }
});

test('/metrics can be opened without opening other pages', async () => {
  const server = await serve({ openMetrics: () => true });
  expect((await ask(server, '/metrics')).status).toBe(200);
  for (const path of ['/', '/metrics/', '/admin/queues']) expect((await ask(server, path)).status).toBe(401);
});

test('the link with the token sets a cookie and redirects to a URL without it, on this daemon only', async () => {
  const server = await serve();
  const token = encodeURIComponent(TOKEN);
  const { status, headers } = await ask(server, `/?token=${token}`);
  const [cookie = ''] = headers['set-cookie'] ?? [];
  expect([status, headers.location]).toEqual([303, '/']);
  expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/);
  expect(`${cookie}${headers.location}`).not.toContain(token);
  const kept = { cookie: `other=1; ${cookie.split(';')[0]}` };
  expect((await ask(server, '/admin/queues', { headers: kept })).status).toBe(200);
  expect((await ask(server, `/metrics?a=1&token=${token}`)).headers.location).toBe('/metrics?a=1');
  expect((await ask(server, `//evil.example/?token=${token}`)).headers.location).toBe('/evil.example/');
  for (const wrong of ['/?token=', '/?token=guess', '/?token[]=x', `/?Token=${token}`]) {
    const answer = await ask(server, wrong);
    expect([wrong, answer.status, answer.headers['set-cookie']]).toEqual([wrong, 401, undefined]);
  }
  expect((await ask(server, '/', { headers: { cookie: 'usage_ledger_session=eA' } })).status).toBe(401);
});

test('rejects a wrong token, a token in the wrong place, and URLs that resemble open pages', async () => {
  const server = await serve();
  const wrong = [
    bearer(`${TOKEN}x`),
    bearer(TOKEN.slice(0, -1)),
    bearer(''),
    basic(TOKEN),
    basic(`${TOKEN}:`),
    basic(`anybody:${TOKEN}:`),
    { authorization: TOKEN },
    { authorization: `Digest ${TOKEN}` },
    { authorization: 'Basic %%%' },
  ];
  for (const headers of wrong) {
    expect([headers, (await ask(server, '/metrics', { headers })).status]).toEqual([headers, 401]);
  }
  for (const path of ['/metrics?/healthz', '/healthz/../metrics', '/healthz/', '//healthz', '/%6detrics']) {
    expect([path, (await ask(server, path)).status]).toEqual([path, 401]);
  }
});

test('on a loopback address only requests for a loopback host are answered, which stops DNS rebinding', async () => {
  const server = await serve();
  const { port } = new URL(server.url);
  for (const host of ['localhost', `localhost:${port}`, '127.0.0.1', `127.8.9.1:${port}`, `[::1]:${port}`]) {
    expect([host, (await ask(server, '/readyz', { headers: { host } })).status]).toEqual([host, 200]);
  }
  for (const host of ['rebound.example', `127.0.0.1.evil.example:${port}`, 'localhost.', '::1', 'a@localhost']) {
    expect([host, (await ask(server, '/healthz', { headers: { host } })).status]).toEqual([host, 421]);
  }
});

test('bound to all addresses, every host name is accepted with a token', async () => {
  const server = await serve({ host: '0.0.0.0' });
  const headers = { host: 'ledger.example', ...bearer(TOKEN) };
  const local = { ...server, url: server.url.replace('0.0.0.0', '127.0.0.1') };
  expect((await ask(local, '/metrics', { headers })).status).toBe(200);
});

test('every response, including errors, forbids framing, sniffing and caching', async () => {
  const server = await serve();
  const answers = [
    await ask(server, '/healthz'),
    await ask(server, '/metrics'),
    await ask(server, '/admin/queues', { headers: bearer(TOKEN) }),
    await ask(server, '/admin/queues/static/favicon.ico', { headers: bearer(TOKEN) }),
    await ask(server, '/nowhere', { headers: bearer(TOKEN) }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 200, 200, 404]);
  for (const { headers } of answers) {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    });
  }
});
