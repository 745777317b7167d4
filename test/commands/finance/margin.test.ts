import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { checkMoney } from '../../../src/ledger/audit/money/verify-money.ts';
import { setCards } from '../../../src/ledger/journal/charges/charge-run.ts';
import { readTenantPage } from '../../../src/reports/page/tenant-data.ts';
import { tenantFile } from '../../reports/report-files.ts';
import { closeMonth, dropTriggers, openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { createWorld, FIRST, NOON, parseJson, row, type World } from '../world.ts';

const CARD = { name: 'flat', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.01' };
/** 1,000 credits cost 17.77 EUR and bring 10.00. */
const COST = { name: 'secret provider', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.01777' };
const WORKSPACE = {
  ...FIRST,
  usage: [
    row('acme', '2026-01', 1000),
    row('acme', '2026-02', 5000),
    row('globex', '2026-01', 400),
    row('free', '2026-01', 9),
  ],
};
const FREE = { ...CARD, name: 'dollars', tenant: 'free', currency: 'USD' };

describe('margin', () => {
  it('is what all documents about a month come to less what it costs, and another currency has none', async () => {
    const world = await createPriced([CARD, FREE], [COST]);
    expect(margins(world, '2026-01')).toEqual([
      ['acme', '10.00', '17.77', '-7.77', -77.7, null],
      ['free', null, '0.16', null, null, 'other currency'],
      ['globex', '4.00', '7.11', '-3.11', -77.75, null],
    ]);
    await world.run('close', '2026-01', '--by', 'Ada', '--note', 'Ada', '--force');
    await world.run(
      'lines',
      'add',
      ...'--tenant acme --period 2026-01 --amount 20 --currency EUR --reason fee'.split(' '),
    );
    expect(margins(world, '2026-01')[0]).toEqual(['acme', '30.00', '17.77', '12.23', 40.77, null]);
    expect(margins(world, '2026-02')).toEqual([['acme', '50.00', '88.85', '-38.85', -77.7, null]]);
    const { out } = await world.run('export', 'margin', '--period', '2026-01', '--format', 'csv');
    expect(out).toContain(
      'ws-1,acme,2026-01,EUR,3000,1777,1223,30.00,17.77,12.23,40.77,12.23,2,EUR,,flat,secret provider',
    );
    expect((await world.run('verify')).code).toBe(0);
  });

  it('follows new cost cards in closed months too, which change no charge, and cards that are cleared', async () => {
    const world = await createPriced([CARD], [COST]);
    await world.run('close', '2026-01', '--by', 'Ada', '--note', 'Ada', '--force');
    const statement = (await world.run('statement', '2026-01')).out;
    expect(await apply(world, { costs: [{ ...COST, price_per_credit: '0.001' }] })).toMatch(
      /\+ cost: secret provider\n- cost: secret provider\n.*1 rate card is active\./s,
    );
    expect(margins(world, '2026-01')[0]).toEqual(['acme', '10.00', '1.00', '9.00', 90, null]);
    expect((await world.run('statement', '2026-01')).out).toBe(statement);
    const listed = parseJson((await world.run('rates', 'list', '--json')).out).rows;
    expect(listed.map(({ name, side }: Record<string, unknown>) => [name, side])).toEqual([
      ['flat', 'price'],
      ['secret provider', 'cost'],
    ]);
    expect((await world.run('verify')).code).toBe(0);
    expect((await world.run('rates', 'clear', '--yes')).code).toBe(0);
    expect(margins(world, '2026-01')).toEqual([]);
  });

  it('stands in the report, the lowest first, with how many have none and why', async () => {
    const world = await createPriced([CARD, FREE], [COST]);
    await world.run('report', '--period', '2026-01', '--out', 'january.html');
    const text = readFileSync(join(world.folder, 'january.html'), 'utf8').replaceAll(/<[^>]*>/g, ' ');
    const plain = text.replaceAll(/\s+/g, ' ');
    expect(plain).toContain('All tenants, EUR 14.00 24.88 -10.88 -77% acme, EUR 10.00 17.77 -7.77 -77% globex, EUR');
    expect(plain).toContain('Without a margin: 1 (other currency).');
  });

  it('is in nothing that is made for a tenant', async () => {
    const world = await createPriced([CARD], [COST], { number: 'N-{seq}' }, Date.UTC(2026, 1, 1, 6));
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 1000, requests: 11 });
    await world.run('sync');
    const told =
      "SELECT tenant_id FROM finance_alerts WHERE rule = 'margin' AND state = 'firing' AND tenant_id = 'acme'";
    expect(world.query(told)).toEqual([{ tenant_id: 'acme' }]);
    await world.run('close', '2026-01', '--by', 'Ada', '--note', 'Ada', '--force');
    const each = ['statement', '2026-01', '--each', '--out', 'each', '--format', 'html,json,csv'];
    expect((await world.run(...each)).code).toBe(0);
    for (const format of ['html', 'json', 'csv']) {
      const own = ['statement', '2026-01', '--for-tenant', 'acme', '--format', format, '--out', `each/own.${format}`];
      expect((await world.run(...own)).code).toBe(0);
    }
    const focus = ['export', 'focus', '--period', '2026-01', '--format', 'csv', '--out', 'each/focus.csv'];
    expect((await world.run(...focus)).code).toBe(0);
    const connection = new Database(world.ledgerPath);
    const page = readTenantPage(connection, { workspaceId: 'ws-1', tenantId: 'acme', period: '2026-01', nowMs: NOON });
    const links = { tenant: () => '', workspace: '' };
    if (page !== null) writeFileSync(join(world.folder, 'each', 'page.html'), await tenantFile(page, links));
    connection.close();
    const made = readdirSync(join(world.folder, 'each'), { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    expect(made.length).toBeGreaterThan(10);
    for (const { parentPath, name } of made) {
      const text = readFileSync(join(parentPath, name), 'utf8');
      // The style of a page has margins, and a digest may have any four digits.
      const plain = text.replaceAll(/<style>.*?<\/style>|<script.*?<\/script>|\b[0-9a-f]{16,}\b/gs, '');
      const found = ['secret', '0.01777', '17.77', '1777', '7.77', '-777', 'margin'].filter((one) =>
        plain.includes(one),
      );
      expect([name, found]).toEqual([name, []]);
      if (/^(own|page)\./.test(name)) expect(text, name).toContain('acme');
    }
  });

  it('is known of who is charged nothing after a close, and not of who is not charged', async () => {
    const { connection } = openLedger();
    const first = usageRecord('acme', 1000, '2026-01');
    setCards(connection, { cards: [{ ...CARD, tenant: 'a*' }], costs: [CARD], source: 'import', nowMs: NOON });
    await publish(connection, [first], { nowMs: NOON });
    closeMonth(connection, '2026-01', NOON);
    const after = [first, usageRecord('apple', -1, '2026-01'), usageRecord('other', 100, '2026-02')];
    await publish(connection, after, { nowMs: NOON + 1 });
    const margin = 'SELECT tenant_id, revenue, margin, no_margin FROM finance_margin ORDER BY tenant_id';
    expect(connection.prepare(margin).raw().all()).toEqual([
      ['acme', '10.00', '0.00', null],
      ['apple', '0.00', '0.00', null],
      ['other', '0.00', null, 'no charge'],
    ]);
  });

  it('is found by verify when a cost, or a cost card, was edited', async () => {
    const world = await createPriced([CARD], [COST]);
    for (const edit of [
      'UPDATE costs SET amount_minor = amount_minor - 1 WHERE tenant_key = 1',
      'UPDATE costs SET amount_minor = NULL WHERE tenant_key = 1',
      'UPDATE costs SET card_key = 1',
      'DELETE FROM costs WHERE tenant_key = 1',
      'INSERT INTO costs SELECT period_key, 99, card_key, 0 FROM costs LIMIT 1',
      `UPDATE rate_cards SET side = 'price' WHERE side = 'cost'`,
      `UPDATE rate_cards SET definition = replace(definition, '0.01777', '0.02') WHERE side = 'cost'`,
    ]) {
      const connection = new Database(world.ledgerPath);
      dropTriggers(connection);
      connection.pragma('journal_mode = DELETE');
      const copy = new Database(connection.serialize());
      connection.close();
      copy.exec(edit);
      expect([edit, checkMoney(copy)[0]?.message]).toEqual([
        edit,
        expect.stringMatching(/the cost does not match the cost card|the charge does not match the rate card/),
      ]);
      copy.close();
    }
  });
});

function margins(world: World, period: string): unknown[] {
  const rows = world.query(
    `SELECT tenant_id, revenue, cost, margin, margin_percent, no_margin FROM finance_margin
     WHERE period = '${period}' ORDER BY tenant_id`,
  );
  return (rows as object[]).map((row) => Object.values(row));
}

async function apply(world: World, cards: object): Promise<string> {
  writeFileSync(join(world.folder, 'cards.yml'), stringify(cards));
  const { code, out, err } = await world.run('rates', 'apply', 'cards.yml', '--yes');
  expect([code, err]).toEqual([0, '']);
  return out;
}

async function createPriced(rates: object[], costs: object[], statement?: object, nowMs = NOON): Promise<World> {
  const world = await createWorld(WORKSPACE);
  Object.assign(world.clock, { nowMs, serviceMs: nowMs });
  if (statement !== undefined) {
    const path = join(world.folder, 'usage-ledger.yml');
    writeFileSync(path, `${readFileSync(path, 'utf8')}${stringify({ statement })}`);
  }
  await world.run('sync');
  await apply(world, { rates, costs });
  return world;
}
