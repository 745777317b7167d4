import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveApi } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const PROBLEM = 'application/problem+json; charset=utf-8';

describe('a request that cannot be answered', () => {
  it('is a problem with status, code, detail and hint, and names each field that is wrong', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const answer = await ask('/v1/usage?period=2026-13&colour=red&limit=5');
    expect([answer.status, answer.headers['content-type']]).toEqual([400, PROBLEM]);
    expect(answer.json).toEqual({
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      code: 'bad_request',
      detail: expect.stringContaining('period: expected a month such as 2026-02'),
      hint: 'see /api for the fields of this path',
      errors: [
        { field: 'period', message: 'expected a month such as 2026-02' },
        { field: 'colour', message: 'is not a field of this path' },
      ],
    });
  });

  it.each([
    ['/v1/usage?limit=0', 400],
    ['/v1/usage?limit=1001', 400],
    ['/v1/usage?limit=5&limit=6', 400],
    ['/v1/usage?limit=1e3', 400],
    ['/v1/usage?workspace=nobody', 400],
    ['/v1/usage?as_of=yesterday', 400],
    ['/v1/usage?period=2026-01&from=2026-01', 400],
    ['/v1/usage?__proto__[x]=1', 400],
    ['/v1/alerts?all=maybe', 400],
    ['/v1/alerts?state=gone', 400],
    ['/v1/exports/sqlite_master', 400],
    ['/v1/periods/2026-13', 400],
    ['/v1/statements/2020-01?workspace=ws-1', 404],
    ['/v1/statements/2026-01', 400],
    ['/v1/statements/2026-01/nobody?workspace=ws-1', 404],
    ['/v1/alerts/alert_0000', 404],
    ['/v1/alerts/%00', 404],
    ['/v1/tenants/%ff', 400],
    [`/v1/tenants/${'x'.repeat(1025)}`, 400],
    ['/v1/nowhere', 404],
    ['/v2/usage', 404],
    ['/v1/exports/budgets?tenant=acme&period=2026-13', 400],
    ['/v1/alerts/backtest?workspace=ws-1&ratio=two', 400],
    ['/v1/alerts/backtest?workspace=ws-1&ratio=0.5', 400],
    ['/v1/alerts/backtest?workspace=ws-1&min_credits=1.5', 400],
    ['/v1/alerts/backtest?workspace=ws-1&from=2026-02&to=2026-01', 400],
  ])('%s is answered %i', async (path, status) => {
    const { ask } = await serveApi(await worldOfOperations());
    const answer = await ask(path);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, PROBLEM]);
    expect(answer.json).toMatchObject({ status, code: expect.any(String), detail: expect.any(String) });
  });

  it('says in plain words what is missing, of another kind, or out of range', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const post = async (path: string, body: object) =>
      (await ask(path, { method: 'POST', role: 'finance', body })).json.errors;
    expect(await post('/v1/lines', { tenant: 7, period: '2026-02', amount: '1.00', reason: 'x'.repeat(2000) })).toEqual(
      [
        { field: 'tenant', message: 'expected a text' },
        { field: 'currency', message: 'is missing' },
        { field: 'reason', message: 'expected at most 200 characters' },
      ],
    );
    expect(await post('/v1/alerts/alert_1/feedback', { label: 'maybe', note: 'x'.repeat(501) })).toEqual([
      { field: 'label', message: expect.stringMatching(/^expected one of "[a-z]+"(, "[a-z]+")+$/) },
      { field: 'note', message: 'expected at most 500 characters' },
    ]);
    expect(await post('/v1/alerts/alert_1/feedback', {})).toEqual([
      { field: 'label', message: expect.stringMatching(/^is missing: expected one of "/) },
    ]);
    expect(await post('/v1/rates/check', { rates: {}, open_only: 'yes' })).toEqual([
      { field: 'rates', message: 'expected a list' },
      { field: 'open_only', message: 'expected true or false' },
    ]);
  });

  it('names the place, and a remedy that works there, before it reads any field', async () => {
    const { ask } = await serveApi(await worldOfOperations());
    const problem = async (path: string, question: Parameters<typeof ask>[1] = {}) => {
      const { json } = await ask(path, question);
      return [json.status, json.detail, json.hint];
    };
    const token = 'send a token of `http.tokens` in the header `Authorization: Bearer TOKEN`';
    const paths = 'see /api for the paths and their methods';
    const wrong = { authorization: 'Bearer another-token-of-another-daemon' };
    expect(await problem('/v1/head', { role: null })).toEqual([401, 'the request has no token', token]);
    expect(await problem('/v1/head', { headers: wrong })).toEqual([
      401,
      'the token of the request is not known here',
      token,
    ]);
    expect(await problem('/v1/usages?period=2026-02')).toEqual([404, 'there is no GET /api/v1/usages', paths]);
    const text = { 'content-type': 'text/plain' };
    expect(
      await problem('/v1/lines', { method: 'POST', role: 'finance', headers: text, body: Buffer.from('x') }),
    ).toEqual([...[415, 'content-type is "text/plain"', 'send application/json']]);
    const host = { host: 'ledger.example' };
    expect(await problem('/v1/head', { headers: host })).toEqual([
      ...[
        421,
        'the host "ledger.example" is not an address of this machine\'s own',
        'use 127.0.0.1 or localhost as the host',
      ],
    ]);
  });

  it('finds tenants whose ids have slashes, emoji and percent signs', async () => {
    const world = await worldOfOperations();
    const ids = ['a/b', '../etc', 'snow ☃ 🎿', '100%', 'a?b#c', 'x'.repeat(255)];
    for (const tenantId of ids) {
      world.sandbox.workspace('ws-1').set({ tenantId, period: '2026-02', credits: 5, requests: 1 });
    }
    expect(await world.run('sync')).toMatchObject({ code: 0 });
    const { ask } = await serveApi(world);
    for (const id of ids) {
      const { status, json } = await ask(`/v1/tenants/${encodeURIComponent(id)}`);
      expect([id, status, json.tenant_id, json.workspaces?.length]).toEqual([id, 200, id, 1]);
    }
  });
});
