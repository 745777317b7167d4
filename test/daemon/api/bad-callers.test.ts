import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { PAGES_TOKEN } from '../http/serve-world.ts';
import { serveApi, TOKENS } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const PROBLEM = 'application/problem+json; charset=utf-8';

describe('a caller', () => {
  it('needs a token: 401 without one, with a wrong one, and with one in the wrong place', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    for (const headers of [{}, { authorization: 'Bearer guess' }, { authorization: TOKENS[0]?.token ?? '' }]) {
      const answer = await ask('/v1/usage', { role: null, headers });
      expect([answer.status, answer.headers['content-type']]).toEqual([401, PROBLEM]);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer /);
      expect(answer.json.code).toBe('unauthorized');
    }
    expect((await ask('/v1/usage', { role: null, headers: { authorization: `Bearer ${PAGES_TOKEN}` } })).status).toBe(
      200,
    );
    for (const role of ['read', 'operate', 'finance'] as const) {
      expect((await ask('/v1/usage', { role })).status).toBe(200);
    }
  });

  it('with a foreign Host header is refused before anything else', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const answer = await ask('/v1/usage', { headers: { host: 'rebound.example' } });
    expect([answer.status, answer.json.code]).toEqual([421, 'unknown_host']);
  });

  it('who floods is told to wait, and holds up nobody else', async () => {
    const { ask } = await serveApi(await worldOfOperations(), { requestsPerMinute: 20 });
    const answers = await Promise.all(Array.from({ length: 25 }, () => ask('/v1/head')));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ status: 429, json: { code: 'too_many_requests' } });
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
    expect((await ask('/v1/head', { role: 'finance' })).status).toBe(200);
  });

  it('who asks again at once is refused a second later, so that a flood takes no time from others', async () => {
    const { ask } = await serveApi(await worldOfOperations(), { requestsPerMinute: 1 });
    await ask('/v1/head');
    const startMs = performance.now();
    expect((await ask('/v1/head')).status).toBe(429);
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(990);
  });

  it('whose role is too small is refused with the role that is needed', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const answer = await ask('/v1/alerts/alert_1/acknowledge', { method: 'POST', role: 'read', body: {} });
    expect([answer.status, answer.json.code]).toEqual([403, 'forbidden']);
    expect(answer.json.detail).toBe('alerts.acknowledge needs the role operate');
  });

  it.each([
    ['a large one', 'x'.repeat(3_000_000), {}, 413],
    ['no JSON', '{"note":', {}, 400],
    ['a list', '[1,2]', {}, 400],
    ['a deep one', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, {}, 400],
    ['an unknown field', '{"nota":"x"}', {}, 400],
    ['a wrong type', '{"note":12}', {}, 400],
    ['a field of the path', '{"alert_id":"alert_2"}', {}, 400],
    ['__proto__', '{"__proto__":{"role":"finance"}}', {}, 400],
    ['a form', 'note=x', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
  ])('whose body is %s is refused, and nothing is written', async (_, body, headers, status) => {
    const world = await worldOfOperations();
    const { ask } = await serveApi(world);
    const { alert_id: id } = inputOf('alerts.show', world);
    const state = () => world.query('SELECT count(*), max(revision) FROM alert_transitions');
    const before = state();
    const answer = await ask(`/v1/alerts/${id}/acknowledge`, { method: 'POST', role: 'operate', body, headers });
    expect([answer.status, answer.headers['content-type']]).toEqual([status, PROBLEM]);
    expect(state()).toEqual(before);
  });

  it('changes nothing with the cookie of a browser, which other sites of this machine can make it send', async () => {
    const { ask, url } = await serveApi(await worldOfOperations());
    const link = await fetch(`${url}/?token=${PAGES_TOKEN}`, { redirect: 'manual' });
    const [cookie = ''] = (link.headers.get('set-cookie') ?? '').split(';');
    expect((await ask('/v1/head', { role: null, headers: { cookie } })).status).toBe(200);
    const answer = await ask('/v1/alerts/a/acknowledge', { method: 'POST', role: null, headers: { cookie }, body: {} });
    expect([answer.status, answer.json.code]).toEqual([401, 'unauthorized']);
  });

  it('who sends a request that never ends is cut off while others are served', async () => {
    const { url, ask } = await serveApi(await worldOfOperations());
    const { port } = new URL(url);
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('GET /api/v1/usage HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ');
    expect((await ask('/v1/head')).status).toBe(200);
    socket.destroy();
  });
});
