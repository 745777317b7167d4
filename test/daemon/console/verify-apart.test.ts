import { expect, it, vi } from 'vitest';
import { planMonth } from '../../../src/operations/months/plan-month.ts';
import { verifyLedger } from '../../../src/operations/system/verify-ledger.ts';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveConsole } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);

it('forms that verify the whole ledger do so in a thread, so that other pages are answered meanwhile', async () => {
  const { signIn } = await serveConsole(await world());
  const visitor = await signIn('finance');
  const here = [planMonth, verifyLedger].map((operation) => vi.spyOn(operation, 'run'));
  await visitor.post('/system/verify', {}, { from: '/system' });
  expect((await visitor.get('/system')).body).toContain('Ledger verified');
  for (const run of here) expect(run).not.toHaveBeenCalled();
  const page = '/months/2026-01';
  const { status } = await visitor.post(`${page}/close`, { scope: 'ready', note: 'run 12' }, { from: page });
  expect(status).toBe(303);
  const verified = here.flatMap((run) => run.mock.calls as [unknown, { verify?: boolean }][]);
  expect(verified.filter(([, { verify }]) => verify !== false)).toEqual([]);
});
