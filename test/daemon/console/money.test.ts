import { describe, expect, it } from 'vitest';
import { copiesOf, createWorld, FIRST, row, SECOND, workspaceSettings } from '../../commands/world.ts';
import { ledgerOfOperations, OTHER_CARD } from '../../operations/ledger-of-operations.ts';
import { openLedger } from '../../support/open-ledger.ts';
import { rowsOf, textOf } from './page-text.ts';
import { serveConsole, type Visitor } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);
const OTHER = { name: 'dearer.yml', text: JSON.stringify({ rates: [OTHER_CARD] }) };
const CARDS = "SELECT rate_card FROM finance_rate_cards WHERE retired_at IS NULL AND side = 'price'";

async function noticeAt(visitor: Visitor, path: string): Promise<string> {
  const { body } = await visitor.get(path);
  return /role="(?:status|alert)">([^<]*)/.exec(body)?.[1] ?? '';
}

describe('the rate cards', () => {
  it('are listed with their prices', async () => {
    const { signIn } = await serveConsole(await world());
    const { body } = await (await signIn('read')).get('/money');
    expect(textOf(body)).toContain('1 rate card is in force');
    expect(rowsOf(body, 'standard')[0]?.slice(0, 4)).toEqual([
      'standard all tenants, from 2025-12',
      'all tenants',
      'from 2025-12',
      '0.01 per credit EUR',
    ]);
  });

  it('of a file are compared with those in force, month by month and tenant by tenant', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('read');
    const { headers } = await visitor.upload('/money/rates', {}, OTHER, { from: '/money' });
    const { body } = await visitor.get(headers.location ?? '');
    const [{ now, double }] = served.query(
      `SELECT format('%,d', sum(credits_used) / 100) || format('.%02d', sum(credits_used) % 100) AS now,
         format('%,d', sum(credits_used) / 50) || format('.%02d', sum(credits_used) * 2 % 100) AS double
       FROM finance_usage WHERE period = '2025-12'`,
    ) as [{ now: string; double: string }];
    expect(rowsOf(body, 'December 2025')).toEqual([['December 2025 EUR', now, double, `+${now}`]]);
    const [acme] = rowsOf(body, 'Acme Ltd');
    expect([acme?.[0], acme?.[3]]).toEqual([expect.stringMatching(/ EUR$/), expect.stringMatching(/^\+[\d,.]+$/)]);
    expect(body).not.toContain('/apply"');
    expect(served.query(CARDS)).toEqual([{ rate_card: 'standard' }]);
  });

  it('are replaced by finance on the page that shows the difference', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const { headers } = await visitor.upload('/money/rates', {}, OTHER, { from: '/money' });
    const path = headers.location ?? '';
    const { body } = await visitor.get(path);
    expect(textOf(body)).toContain('Added: dearer Retired: standard');
    await visitor.post(`${path}/apply`, {}, { from: path });
    expect(await noticeAt(visitor, '/money')).toBe('1 rate card is in force. Open months were repriced.');
    expect(served.query(CARDS)).toEqual([{ rate_card: 'dearer' }]);
    expect((await visitor.get(path)).status).toBe(404);
  });

  it('of a file with mistakes, with a variable, or that the configuration excludes are refused with a remedy', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const refused = async (text: string): Promise<string> => {
      await visitor.upload('/money/rates', {}, { name: 'cards.yml', text }, { from: '/money' });
      return noticeAt(visitor, '/money');
    };
    expect(await refused('rates: [{ name: a }]')).toMatch(/^\d+ mistakes in cards.yml: rates\[0\]/);
    const withVariable = await refused(`rates:\n  - name: "$${'{HOME}'}"\n`);
    expect(withVariable).toContain('HOME');
    expect(withVariable).not.toContain(process.env.HOME ?? '/root');
    expect(await refused('')).toMatch(/^cards.yml is empty/);
    served.configure({
      workspaces: [FIRST, SECOND].map((workspace) => workspaceSettings(served.sandbox, workspace)),
      rates: [{ name: 'standard', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.01' }],
    });
    const other = await (await serveConsole(served)).signIn('finance');
    const { headers } = await other.upload('/money/rates', {}, OTHER, { from: '/money' });
    const page = await other.get(headers.location ?? '');
    expect(textOf(page.body)).toContain('The configuration has `rates:`. Change the cards there');
    expect(page.body).not.toContain('/apply"');
  });
});

describe('the manual lines', () => {
  it('are listed, added and revoked', async () => {
    const served = await world();
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    expect(rowsOf((await visitor.get('/money')).body, 'acme')[0]?.slice(0, 3)).toEqual([
      'acme ws-1 2026-01',
      '2026-01',
      '-1.50 EUR',
    ]);
    const line = { workspace: 'ws-1', tenant: 'acme', period: '2026-02', currency: 'eur', reason: 'onboarding' };
    await visitor.post('/money/lines', { ...line, amount: '49' }, { from: '/money' });
    expect(await noticeAt(visitor, '/money')).toBe('49.00 EUR added for acme in February 2026.');
    const lines = "SELECT amount, actor, revoked_by, revoked_because FROM finance_lines WHERE reason = 'onboarding'";
    expect(served.query(lines)).toEqual([
      { amount: '49.00', actor: 'Ada Lovelace (signed in)', revoked_by: null, revoked_because: null },
    ]);
    const [{ line_id }] = served.query("SELECT line_id FROM finance_lines WHERE reason = 'onboarding'") as [
      { line_id: number },
    ];
    await visitor.post(`/money/lines/${line_id}/revoke`, { reason: 'typed twice' }, { from: '/money' });
    expect(await noticeAt(visitor, '/money')).toBe(`Line ${line_id} of acme is revoked.`);
    expect(served.query(lines)).toMatchObject([
      { revoked_by: 'Ada Lovelace (signed in)', revoked_because: 'typed twice' },
    ]);
  });

  it('are shown in pages of 50, the latest first, and are revoked on a later page, too', async () => {
    const served = await world();
    const add =
      'INSERT INTO manual_lines SELECT line_id + @id, period_key, tenant_key, @id, currency, minor_units, reason, ';
    const more = `${add}actor, recorded_at, after_seq, NULL, NULL, NULL, NULL FROM manual_lines WHERE line_id = 1`;
    const { connection } = openLedger(served.ledgerPath);
    for (let id = 1; id <= 60; id += 1) connection.prepare(more).run({ id });
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    const amounts = (body: string) => rowsOf(body, 'acme').map((cells) => cells[2]);
    const first = await visitor.get('/money');
    expect(amounts(first.body)).toEqual(Array.from({ length: 50 }, (_, ago) => `${((60 - ago) / 100).toFixed(2)} EUR`));
    const [, earlier = ''] = /href="([^"]*)" rel="next"/.exec(first.body) ?? [];
    const second = await visitor.get(earlier);
    expect(amounts(second.body).slice(0, 10)).toEqual(
      Array.from({ length: 10 }, (_, ago) => `${((10 - ago) / 100).toFixed(2)} EUR`),
    );
    expect(second.body).not.toContain('rel="next"');
    const back = { back: earlier, reason: 'typed twice' };
    const { headers } = await visitor.post('/money/lines/2/revoke', back, { from: earlier });
    expect(headers.location).toBe(earlier);
    expect(await noticeAt(visitor, earlier)).toBe('Line 2 of acme is revoked.');
    expect(textOf((await visitor.get('/money?before=1')).body)).toContain('No earlier manual lines.');
  });

  it('say where a closed month is corrected, and what is wrong with a line', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('finance');
    const line = { workspace: 'ws-1', tenant: 'acme', period: '2026-01', currency: 'EUR', reason: 'fee' };
    await visitor.post('/money/lines', { ...line, amount: '2.50' }, { from: '/money' });
    expect(await noticeAt(visitor, '/money')).toContain('That month is closed: February 2026 has a correction.');
    await visitor.post('/money/lines', { ...line, amount: '2.505' }, { from: '/money' });
    expect(await noticeAt(visitor, '/money')).toMatch(
      /^Amount &quot;2.505&quot; is not an amount in EUR\. Give a plain decimal/,
    );
    expect((await visitor.get('/money')).body).not.toContain('value="2.505"');
  });

  it('have forms for finance alone', async () => {
    const { signIn } = await serveConsole(await world());
    const visitor = await signIn('operate');
    const { body } = await visitor.get('/money');
    for (const action of ['/money/lines', '/revoke', '/apply'])
      expect([action, body.includes(action)]).toEqual([action, false]);
    const from = { from: '/money' };
    expect((await visitor.post('/money/lines', { tenant: 'acme' }, from)).status).toBe(403);
    expect((await visitor.post('/money/lines/1/revoke', { reason: 'x' }, from)).status).toBe(403);
    const { headers } = await visitor.upload('/money/rates', {}, OTHER, from);
    expect((await visitor.post(`${headers.location}/apply`, {}, from)).status).toBe(403);
  });
});

describe('margin and budgets', () => {
  it('show revenue, cost and margin of the latest months by currency', async () => {
    const served = await world();
    const costs = [{ name: 'provider', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.004' }];
    const { signIn } = await serveConsole(served);
    const visitor = await signIn('finance');
    expect(textOf((await visitor.get('/money')).body)).toContain('No cost cards, so there is no margin.');
    const file = { name: 'costs.yml', text: JSON.stringify({ costs }) };
    const { headers } = await visitor.upload('/money/rates', {}, file, { from: '/money' });
    await visitor.post(`${headers.location}/apply`, {}, { from: headers.location ?? '' });
    const { body } = await visitor.get('/money');
    const sums = served.query(
      `SELECT format('%,d', sum(margin_minor) / 100) || format('.%02d', sum(margin_minor) % 100) AS margin
       FROM finance_margin WHERE period = '2026-02' AND no_margin IS NULL`,
    ) as { margin: string }[];
    const [february] = rowsOf(body, 'February 2026');
    expect([february?.[0], february?.[3]]).toEqual(['February 2026 EUR', `${sums[0]?.margin} 60.0%`]);
  });

  it('show how much of each budget is used, the largest part first', async () => {
    // The view of budgets has the months that are open now.
    const nowMs = Date.now();
    const month = new Date(nowMs).toISOString().slice(0, 7);
    const usage = [row('acme', month, 900), row('globex', month, 2500)];
    const served = await createWorld({ ...FIRST, usage });
    Object.assign(served.clock, { nowMs, serviceMs: nowMs });
    const budgets = [
      { tenant: 'acme', credits: 1000 },
      { tenant: 'globex', credits: 2000 },
    ];
    served.configure({ workspaces: [workspaceSettings(served.sandbox, FIRST)], budgets });
    await served.run('sync');
    const { signIn } = await serveConsole(served);
    const { body } = await (await signIn('read')).get('/money');
    const shown = ['globex', 'acme'].map((tenant) => rowsOf(body, tenant)[0]?.slice(1));
    expect(shown).toEqual([
      ['2,500 of 2,000 credits', '125%'],
      ['900 of 1,000 credits', '90%'],
    ]);
    expect(body.indexOf('globex')).toBeLessThan(body.indexOf('acme'));
  });
});
