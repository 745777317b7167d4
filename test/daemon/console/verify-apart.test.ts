import { expect, it, vi } from 'vitest';
import { readCards } from '../../../src/daemon/console/money/read-cards.ts';
import { readComparison } from '../../../src/daemon/console/months/comparison.ts';
import { planMonth } from '../../../src/operations/months/plan-month.ts';
import { checkRates } from '../../../src/operations/rates/compare-rates.ts';
import { compareInvoices } from '../../../src/operations/reconciliations/compare-invoices.ts';
import { verifyLedger } from '../../../src/operations/system/verify-ledger.ts';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations, OTHER_CARD } from '../../operations/ledger-of-operations.ts';
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

it('an uploaded file is read, compared and recorded by reads in a thread, so that other pages are answered meanwhile', async () => {
  const served = await world();
  const { signIn } = await serveConsole(served);
  const visitor = await signIn('finance');
  const here = [readCards, readComparison, checkRates, compareInvoices].map((read) => vi.spyOn(read, 'run'));
  const cards = { name: 'dearer.yml', text: JSON.stringify({ rates: [OTHER_CARD] }) };
  const compared = (await visitor.upload('/money/rates', {}, cards, { from: '/money' })).headers.location ?? '';
  expect((await visitor.post(`${compared}/apply`, {}, { from: compared })).headers.location).toBe('/money');
  const invoices = { name: 'january.csv', text: 'tenant_id,net\nacme,10.00\n' };
  const month = '/months/2026-01';
  const fields = { workspace: 'ws-1', amount_column: 'net' };
  const found = (await visitor.upload(`${month}/reconcile`, fields, invoices, { from: month })).headers.location ?? '';
  expect((await visitor.post(`${found}/record`, {}, { from: found })).headers.location).toBe(month);
  for (const run of here) expect(run).not.toHaveBeenCalled();
  expect(served.query('SELECT extra, missing, different FROM finance_reconciliations')).toHaveLength(1);
  expect(served.query("SELECT rate_card FROM finance_rate_cards WHERE retired_at IS NULL AND side = 'price'")).toEqual([
    { rate_card: 'dearer' },
  ]);
});
