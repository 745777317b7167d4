import { describe, expect, it } from 'vitest';
import { copiesOf } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { rowsOf, textOf } from './page-text.ts';
import { serveConsole, type Visitor } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
const PERIOD = '2026-01';
const MONTH = `/months/${PERIOD}`;
const COLUMNS = { workspace: 'ws-1', tenant_column: 'customer', amount_column: 'net' };
/** acme owes 10.00 less 1.50, globex owes a lot, and nobody knows the stranger. */
const INVOICES = { name: 'january.csv', text: 'customer,net\nacme,10.00\nstranger,5.25\n' };
const RECORDED = 'SELECT * FROM finance_reconciliations';

/** Compares the file and returns the address of the result. */
async function compare(visitor: Visitor, file = INVOICES, fields: Record<string, string> = COLUMNS): Promise<string> {
  const { status, headers } = await visitor.upload(`${MONTH}/reconcile`, fields, file);
  expect(status).toBe(303);
  return headers.location ?? '';
}

async function noticeAt(visitor: Visitor, path: string): Promise<string> {
  const { body } = await visitor.get(path);
  return /role="(?:status|alert)">([^<]*)/.exec(body)?.[1] ?? '';
}

describe('comparing a month with invoices', () => {
  it('shows the differences by cause with exact sums, and each tenant', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const { body } = await visitor.get(await compare(visitor));
    const [globex] = served.query(
      `SELECT format('%,d', amount_minor / 100) || format('.%02d', amount_minor % 100) AS text FROM finance_charges
       WHERE tenant_id = 'globex' AND workspace_id = 'ws-1' AND period = '${PERIOD}'`,
    ) as { text: string }[];
    expect(globex?.text).toBe('90,071,992,547,409.93');
    expect(rowsOf(body, 'Not invoiced')[0]?.slice(1, 3)).toEqual(['1', `-${globex?.text} EUR`]);
    expect(rowsOf(body, 'Not in the ledger')[0]?.slice(1, 3)).toEqual(['1', '+5.25 EUR']);
    expect(rowsOf(body, 'Manual lines left out')[0]?.slice(1, 3)).toEqual(['1', '+1.50 EUR']);
    expect(textOf(body)).toContain('Tenants that differ 3 of 3');
    expect(textOf(body)).toContain('-90,071,992,547,403.18 EUR invoices 15.25, ledger 90,071,992,547,418.43');
    expect(body).toContain(`href="/tenants/ws-1/globex?period=${PERIOD}"`);
    const [acme] = rowsOf(body, 'Acme Ltd');
    expect(acme?.slice(-2)).toEqual(['8.50 10.00 invoiced', '+1.50 EUR Manual lines left out']);
    expect(served.query(RECORDED)).toEqual([]);
  });

  it('records the result under the name of the person, and lists it', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const path = await compare(visitor);
    await visitor.post(`${path}/record`, { note: 'January run' });
    const { body } = await visitor.get(MONTH);
    expect(body).toContain('Recorded: 3 tenants differ.');
    expect(rowsOf(body, '20 Feb 2026')[0]?.slice(1)).toEqual([
      'ws-1',
      '3 differ 0 match',
      'january.csv',
      'Ada Lovelace (signed in) January run',
    ]);
    expect(served.query(RECORDED)).toMatchObject([
      { period: PERIOD, actor: 'Ada Lovelace (signed in)', note: 'January run', missing: 1, extra: 1, different: 1 },
    ]);
    expect((await visitor.get(path)).status).toBe(404);
  });

  it('says that figures have changed since they were shown, and shows the new ones', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const path = await compare(visitor);
    served.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: PERIOD, credits: 1111, requests: 12 });
    await visitor.post(`${path}/record`, {});
    const { body } = await visitor.get(path);
    expect(textOf(body)).toContain('The figures have changed since this page was shown.');
    expect(rowsOf(body, 'Acme Ltd')[0]?.at(-1)).toContain('Read at different times');
    expect(served.query(RECORDED)).toEqual([]);
    await visitor.post(`${path}/record`, {});
    expect(served.query(RECORDED)).toHaveLength(1);
  });

  it('says what is wrong with a file beside the form, in the words of its labels', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('finance');
    const refused = async (fields: Record<string, string>, file: typeof INVOICES | null): Promise<string> => {
      await visitor.upload(`${MONTH}/reconcile`, fields, file);
      return noticeAt(visitor, MONTH);
    };
    expect(await refused(COLUMNS, null)).toBe('No file is chosen. Choose the invoice file.');
    expect(await refused({ workspace: 'ws-1' }, INVOICES)).toBe(
      'No column to compare. Add credits column, amount column or both.',
    );
    expect(await refused({ ...COLUMNS, amount_column: 'gross' }, INVOICES)).toContain('gross');
    expect(await refused(COLUMNS, { name: 'x.csv', text: 'customer,net\nacme,ten\n' })).toContain('is not an amount');
    const large = { name: 'large.csv', text: `customer,net\n${'x'.repeat(16 * 1024 * 1024)}` };
    const { status, body } = await visitor.upload(`${MONTH}/reconcile`, COLUMNS, large);
    expect([status, textOf(body)]).toEqual([413, expect.stringContaining('The file has more than 16 MiB')]);
  });

  it('keeps a file for its own session, three of them, for half an hour', async () => {
    const served = await world();
    const { signIn, sessionClock } = await serveConsole(served);
    const [ada, other] = [await signIn('finance'), await signIn('finance', 'Grace Hopper')];
    const path = await compare(ada);
    expect((await other.get(path)).status).toBe(404);
    expect((await ada.get(path.replace(PERIOD, '2025-12'))).status).toBe(404);
    for (let more = 0; more < 3; more += 1) await compare(ada);
    expect((await ada.get(path)).status).toBe(404);
    const latest = await compare(ada);
    expect((await ada.get(latest)).status).toBe(200);
    sessionClock.nowMs += 31 * 60_000;
    const answer = await ada.get(latest);
    expect([answer.status, textOf(answer.body)]).toEqual([404, expect.stringContaining('no longer here')]);
  });

  it('shows the form to finance alone, and reads no file of anybody else', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('operate');
    expect((await visitor.get(MONTH)).body).not.toContain('/reconcile');
    expect((await visitor.upload(`${MONTH}/reconcile`, COLUMNS, INVOICES)).status).toBe(403);
    const finance = await signIn('finance');
    const foreign = { headers: { origin: 'https://elsewhere.test' } };
    expect((await finance.upload(`${MONTH}/reconcile`, COLUMNS, INVOICES, foreign)).status).toBe(403);
    const stolen = await finance.upload(`${MONTH}/reconcile`, { ...COLUMNS, form_token: 'guessed' }, INVOICES);
    expect(stolen.status).toBe(403);
    finance.cookie = null;
    expect((await finance.upload(`${MONTH}/reconcile`, COLUMNS, INVOICES)).status).toBe(401);
  });
});
