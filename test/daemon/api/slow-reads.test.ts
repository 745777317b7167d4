import { expect, it, vi } from 'vitest';
import { backtestSettings } from '../../../src/operations/alerts/backtest-settings.ts';
import { planMonth } from '../../../src/operations/months/plan-month.ts';
import { checkRates } from '../../../src/operations/rates/compare-rates.ts';
import { verifyLedger } from '../../../src/operations/system/verify-ledger.ts';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations, OTHER_CARD } from '../../operations/ledger-of-operations.ts';
import { serveApi } from './served-api.ts';

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

it('an error of the thread is a problem with its code and hint', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const answer = await ask('/v1/periods/2026-02?workspace=ws-9');
  expect([answer.status, answer.json.code]).toEqual([400, 'usage']);
  expect(answer.json.hint).toContain('ws-1');
});
