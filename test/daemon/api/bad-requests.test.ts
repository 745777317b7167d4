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
