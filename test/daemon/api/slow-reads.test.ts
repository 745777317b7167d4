import { expect, it, vi } from 'vitest';
import { Turns } from '../../../src/daemon/api/turns.ts';
import { backtestSettings } from '../../../src/operations/alerts/backtest-settings.ts';
import { listAlerts } from '../../../src/operations/alerts/list-alerts.ts';
import { planMonth } from '../../../src/operations/months/plan-month.ts';
import { checkRates } from '../../../src/operations/rates/compare-rates.ts';
import { readStatement, tenantStatement } from '../../../src/operations/statements/read-statement.ts';
import { verifyLedger } from '../../../src/operations/system/verify-ledger.ts';
import { listUsage } from '../../../src/operations/usage/list-usage.ts';
import { VIEW_OPERATIONS } from '../../../src/operations/usage/read-view.ts';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations, OTHER_CARD } from '../../operations/ledger-of-operations.ts';
import { serveApi } from './served-api.ts';

type Row = Record<string, unknown>;

const worldOfOperations = copiesOf(ledgerOfOperations);

it('reads of the whole ledger, and changes that begin with one, do not run on the thread that answers requests', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const here = [planMonth, checkRates, verifyLedger, backtestSettings].map((operation) => vi.spyOn(operation, 'run'));
  const post = (path: string, body: object) => ask(path, { method: 'POST', role: 'finance', body });
  const answers = await Promise.all([
    ask('/v1/periods/2026-02'),
    ask('/v1/verification'),
    post('/v1/rates/check', { rates: [OTHER_CARD] }),
    post('/v1/rates', { rates: [OTHER_CARD] }),
    ask('/v1/alerts/backtest?workspace=ws-1&ratio=1.75&min_credits=900'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(answers[0]?.json).toMatchObject({ period: '2026-02', at: '2026-02-20T13:00:00.000Z', sound: true });
  expect(answers[4]?.json.settings).toMatchObject({ ratio: 1.75, min_credits: 900 });
  const closed = await post('/v1/periods/2026-02/close', { workspace: 'ws-1', note: 'run 12' });
  expect(closed.json.code).toBe('close_refused');
  expect((await post('/v1/periods/2026-02/close-all', {})).json).toMatchObject({ refused: 2, applied: false });
  for (const run of here) expect(run).not.toHaveBeenCalled();
});

it('pages of listings that sum whole months do not run on the thread that answers requests, and continue by cursor', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const periods = VIEW_OPERATIONS.find(({ name }) => name === 'periods.list');
  if (periods === undefined) throw new Error('there is no listing of periods');
  const here = [readStatement, listUsage, periods, tenantStatement].map((operation) => vi.spyOn(operation, 'run'));
  const month = '/v1/statements/2026-01?workspace=ws-1&limit=1';
  const answers = await Promise.all([
    ask(month),
    ask('/v1/usage?as_of=2026-02-20T12:30:00Z&limit=1'),
    ask('/v1/periods?limit=1'),
    ask('/v1/statements/2026-01/acme?workspace=ws-1'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const [first] = answers;
  const next = await ask(`${month}&cursor=${first?.json.next_cursor}`);
  expect(first?.json.tenants.concat(next.json.tenants).map(({ tenant_id: id }: Row) => id)).toEqual(['acme', 'globex']);
  expect((await ask(`${month}&cursor=made-up`)).json).toMatchObject({ status: 400, code: 'bad_cursor' });
  for (const run of here) expect(run).not.toHaveBeenCalled();
});

it('rows that take long are read between other requests, on a connection of their own', async () => {
  const { ask, context } = await serveApi(await worldOfOperations());
  const run = vi.spyOn(listAlerts, 'run');
  const turns = vi.spyOn(Turns.prototype, 'isOver').mockReturnValue(true);
  const answer = (await ask('/v1/alerts?all=true')).json;
  expect(answer.alerts.length).toBeGreaterThan(0);
  expect(turns).toHaveBeenCalledTimes(answer.alerts.length);
  expect(answer.snapshot).toEqual((await ask('/v1/head')).json.snapshot);
  for (const [scope] of run.mock.calls) expect(scope.connection).not.toBe(context.reader().connection);
});

it('a verification checks a head that was stored elsewhere', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const head: string = (await ask('/v1/head')).json.snapshot.head_digest;
  const found = await ask(`/v1/verification?expect_head=${head.toUpperCase()}`);
  expect(found.json).toMatchObject({ ok: true, faults: [] });
  const other = await ask(`/v1/verification?expect_head=${'f'.repeat(64)}`);
  expect(other.json).toMatchObject({ ok: false, faults: [{ check: 'anchor' }] });
  const refused = await ask('/v1/verification?expect_head=9d67');
  expect([refused.status, refused.json.errors]).toEqual([
    400,
    [{ field: 'expect_head', message: 'expected the 64 hexadecimal digits of a head' }],
  ]);
});

it('an error of the thread is a problem with its code and hint', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const answer = await ask('/v1/periods/2026-02?workspace=ws-9');
  expect([answer.status, answer.json.code]).toEqual([400, 'usage']);
  expect(answer.json.hint).toContain('ws-1');
});
