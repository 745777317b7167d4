import { expect, test } from 'vitest';
import { ask, basic, bearer, serve, TOKEN } from './served.ts';

test('with a token every page but /healthz asks for it, as Bearer or as a password', async () => {
  const server = await serve({ token: TOKEN });
  expect((await ask(server, '/healthz')).status).toBe(200);
  for (const path of [
    '/',
    '/readyz',
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
    expect((await ask(server, '/readyz', { headers })).status).toBe(200);
    expect((await ask(server, '/admin/queues', { headers })).status).toBe(200);
  }
});

test('a wrong token, a token in the wrong place and open-looking addresses are refused', async () => {
  const server = await serve({ token: TOKEN });
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
    expect([headers, (await ask(server, '/readyz', { headers })).status]).toEqual([headers, 401]);
  }
  for (const path of ['/readyz?/healthz', '/healthz/../readyz', '/healthz/', '//healthz', '/%72eadyz']) {
    expect([path, (await ask(server, path)).status]).toEqual([path, 401]);
  }
});

test('after ten wrong tokens an address is refused for a while, and who has the right one is let in; asking without one is no guess', async () => {
  const server = await serve({ token: TOKEN });
  for (let asked = 0; asked < 20; asked += 1) expect((await ask(server, '/readyz')).status).toBe(401);
  for (let wrong = 0; wrong < 10; wrong += 1) {
    expect((await ask(server, '/metrics', { headers: bearer(`guess-${wrong}`) })).status).toBe(401);
  }
  expect((await ask(server, '/readyz', { headers: bearer(TOKEN) })).status).toBe(200);
  const { status, headers, body } = await ask(server, '/admin/queues', { headers: bearer('guess-11') });
  expect([status, JSON.parse(body).error]).toEqual([429, 'too_many_attempts']);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  expect((await ask(server, '/healthz')).status).toBe(200);
  expect((await ask(await serve({ token: TOKEN }), '/readyz', { headers: bearer(TOKEN) })).status).toBe(200);
});

test('on a loopback address only requests for a loopback name are answered, so no foreign page can read them', async () => {
  const server = await serve();
  const { port } = new URL(server.url);
  for (const host of ['localhost', `localhost:${port}`, '127.0.0.1', `127.8.9.1:${port}`, `[::1]:${port}`]) {
    expect([host, (await ask(server, '/metrics', { headers: { host } })).status]).toEqual([host, 200]);
  }
  for (const host of ['rebound.example', `127.0.0.1.evil.example:${port}`, 'localhost.', '::1', 'a@localhost']) {
    expect([host, (await ask(server, '/healthz', { headers: { host } })).status]).toEqual([host, 421]);
  }
});

test('bound to every address, with a token, any name is answered', async () => {
  const server = await serve({ host: '0.0.0.0', token: TOKEN });
  const headers = { host: 'ledger.example', ...bearer(TOKEN) };
  const local = { ...server, url: server.url.replace('0.0.0.0', '127.0.0.1') };
  expect((await ask(local, '/readyz', { headers })).status).toBe(200);
});

test('every answer, refusals included, forbids framing, sniffing and caching', async () => {
  const server = await serve({ token: TOKEN });
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
