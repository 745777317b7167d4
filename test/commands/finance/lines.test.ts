import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { copiesOf, createWorld, FIRST, NOON, parseJson, type World } from '../world.ts';

const CARD = { name: 'flat', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.01' };
const REASON = 'goodwill <b>for</b> the outage';

describe('manual lines', () => {
  it('are part of an estimate, frozen by the close, on the statement in every form, and proven to the tenant', async () => {
    const world = await createPriced();
    const added = await world.run(...add('2026-01', '-1.50'), '--by', 'Ada Byron');
    expect(added.code).toBe(0);
    const [said, head] = added.out.split('\n');
    expect(said).toBe(`line 1 added: -1.50 EUR for acme in 2026-01, ${REASON}`);
    expect((await world.run('verify')).out).toContain(head);
    expect(charges(world, '2026-01')).toEqual([{ amount: '8.50', currency: 'EUR', correction: 0, manual: -150 }]);
    expect(await totalOf(world, '2026-01')).toEqual([{ currency: 'EUR', amount_minor: 850, amount: '8.50' }]);

    await closeMonth(world, '2026-01');
    const text = (await world.run('statement', '2026-01', '--tenant', 'acme')).out;
    expect(text).toMatch(/goodwill <b>for<\/b> the outage +-1\.50 +EUR/);
    const csv = (await world.run('statement', '2026-01', '--tenant', 'acme', '--format', 'csv')).out;
    expect(csv).toContain(`,manual,,,,,-1.50,EUR,,,,${REASON}`);
    expect(await fileOf(world, 'acme.html', 'html')).toContain('goodwill &lt;b>for&lt;/b> the outage');
    const own = await fileOf(world, 'acme.json', 'json');
    expect(own).not.toContain('Ada');
    const { tenants, head_digest: digest } = parseJson(own);
    expect(tenants[0].lines.at(-1)).toMatchObject({ kind: 'manual', amount: '-1.50', credits: null, reason: REASON });
    expect((await world.run('statement', 'verify', 'acme.json', '--digest', digest)).code).toBe(0);
    const forged = own.replaceAll('for the outage', 'for nothing').replaceAll(REASON, 'goodwill');
    writeFileSync(join(world.folder, 'forged.json'), forged);
    expect((await world.run('statement', 'verify', 'forged.json', '--digest', digest)).code).toBe(4);
  });

  it('come late as a correction with their reason, are taken back by a reopen, and leave the closed statement alone', async () => {
    const world = await createPriced();
    await closeMonth(world, '2026-01');
    const before = await fileOf(world, 'before.json', 'json');
    const { out } = await world.run(...add('2026-01', '-1.50'), '--json');
    expect(parseJson(out)).toEqual({
      line_id: 1,
      tenant_id: 'acme',
      period: '2026-01',
      amount_minor: -150,
      amount: '-1.50',
      currency: 'EUR',
      reason: REASON,
      booked_period: '2026-02',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await fileOf(world, 'after.json', 'json')).toBe(before);
    expect((await world.run('statement', '2026-02', '--tenant', 'acme')).out).toContain(
      `correction of 2026-01: ${REASON}`,
    );
    expect(charges(world, '2026-02')).toEqual([{ amount: '48.50', currency: 'EUR', correction: -150, manual: 0 }]);
    const notes = 'SELECT amount, cause, reason FROM finance_charge_lines WHERE corrects_period IS NOT NULL';
    expect(world.query(notes)).toEqual([{ amount: '-1.50', cause: 'line', reason: REASON }]);

    expect((await world.run('reopen', '2026-01', '--note', 'goodwill')).code).toBe(0);
    expect(charges(world, '2026-01')).toEqual([{ amount: '8.50', currency: 'EUR', correction: 0, manual: -150 }]);
    expect(charges(world, '2026-02')).toEqual([{ amount: '50.00', currency: 'EUR', correction: 0, manual: 0 }]);
    await closeMonth(world, '2026-01');
    expect((await world.run('lines', 'revoke', '1', '--reason', 'meant for globex')).out).toContain(
      'booked as a correction in 2026-02',
    );
    expect(charges(world, '2026-02')).toEqual([{ amount: '51.50', currency: 'EUR', correction: 150, manual: 0 }]);
    expect((await world.run('verify')).code).toBe(0);
  });

  it('go from an estimate when they are revoked, and the list says who and why', async () => {
    const world = await createPriced();
    await world.run(...add('2026-01', '-1.50'), '--by', 'Ada');
    expect((await world.run('lines', 'revoke', '1', '--reason', 'a slip', '--by', 'Bo')).code).toBe(0);
    expect(charges(world, '2026-01')).toEqual([{ amount: '10.00', currency: 'EUR', correction: 0, manual: 0 }]);
    expect((await world.run('statement', '2026-01', '--tenant', 'acme')).out).not.toContain('goodwill');
    const { rows } = parseJson((await world.run('lines', 'list', '--period', '2026-01', '--json')).out);
    expect(rows).toEqual([
      {
        ...{ line_id: 1, workspace_id: 'ws-1', period: '2026-01', tenant_id: 'acme', amount: '-1.50', currency: 'EUR' },
        ...{ reason: REASON, actor: 'Ada', recorded_at: '2026-02-20T12:00:00.000Z' },
        ...{ revoked_at: '2026-02-20T12:00:00.000Z', revoked_by: 'Bo', revoked_because: 'a slip' },
      },
    ]);
    expect((await world.run('lines', 'list', '--tenant', 'globex')).err).toContain('no manual line matches');
  });

  it('in another currency than the rate card have a charge and a total of their own', async () => {
    const world = await createPriced();
    const { code, err } = await world.run(...add('2026-01', '4900', 'JPY'));
    expect(code).toBe(0);
    expect(err).toBe("The tenant's rate card is in EUR: the statement has a separate total in JPY.\n");
    expect(charges(world, '2026-01')).toEqual([
      { amount: '10.00', currency: 'EUR', correction: 0, manual: 0 },
      { amount: '4900', currency: 'JPY', correction: 0, manual: 4900 },
    ]);
    expect((await totalOf(world, '2026-01')).map(({ currency }) => currency)).toEqual(['EUR', 'JPY']);
  });

  it('are rows of credit or adjustment in FOCUS, and what an invoice lacks has its cause', async () => {
    const world = await createPriced();
    await world.run(...add('2026-01', '-1.50'));
    await world.run(...add('2026-01', '7.00', 'EUR', 'set-up'));
    const focus = (await world.run('export', 'focus', '--period', '2026-01', '--tenant', 'acme', '--format', 'json'))
      .out;
    const all = parseJson(focus).rows as Record<string, unknown>[];
    const rows = all.filter((row) => row.ChargeFrequency === 'One-Time');
    expect(rows).toMatchObject([
      { ChargeCategory: 'Credit', BilledCost: '-1.50', ChargeDescription: `Manual line, 2026-01: ${REASON}` },
      { ChargeCategory: 'Adjustment', BilledCost: '7.00', ConsumedQuantity: null, SkuPriceId: null },
    ]);
    writeFileSync(join(world.folder, 'invoices.csv'), 'tenant_id,net\nacme,10.00\nglobex,90071992547409.93\n');
    const compared = await world.run(
      ...['reconcile', 'invoices.csv', '--period', '2026-01', '--amount-column', 'net', '--no-service', '--json'],
    );
    expect(parseJson(compared.out).rows).toMatchObject([
      { tenant_id: 'acme', status: 'different', cause: 'manual' },
      { tenant_id: 'globex', status: 'matched' },
    ]);
  });

  const REFUSED: [string, string[], string][] = [
    ['a tenant that nobody knows', ['--tenant', 'nobody'], 'has no tenant "nobody"'],
    ['a month that the ledger does not cover', ['--period', '2031-01'], 'has no data for 2031-01'],
    ['no amount', ['--amount', '0.00'], 'is not an amount in EUR'],
    ['an amount that is finer than its currency', ['--amount', '1.005'], 'is not an amount in EUR'],
    ['an amount beyond what sums can hold', ['--amount', '99999999999999.00'], 'is not an amount in EUR'],
    ['a currency that is none', ['--currency', 'EURO'], 'is not an ISO 4217 code'],
    ['no reason', ['--reason', ' '], '--reason has 0 characters'],
  ];
  it.each(REFUSED)('are refused for %s, with what helps, and nothing is written', async (_, change, why) => {
    const world = await createPriced();
    const { code, err } = await world.run(...add('2026-01', '-1.50'), ...change);
    expect(code).toBeGreaterThan(0);
    expect(err).toContain(why);
    expect(world.query('SELECT * FROM finance_lines')).toEqual([]);
  });

  it('are added once when a script is run twice, and an equal line by another person is refused', async () => {
    const world = await createPriced();
    const first = await world.run(...add('2026-01', '-1.50'), '--json');
    const second = await world.run(...add('2026-01', '-1.50'), '--json');
    expect(second).toMatchObject({ code: 0, out: first.out });
    expect(second.err).toContain('line 1 is identical: nothing was added');
    expect(world.query('SELECT line_id FROM finance_lines')).toHaveLength(1);
    expect((await world.run(...add('2026-01', '-1.50'), '--by', 'Bo')).err).toContain('line 1 is identical');
  });

  it('are revoked once: the same person has the same answer again, another one is refused', async () => {
    const world = await createPriced();
    await world.run(...add('2026-01', '-1.50'));
    const revoked = await world.run('lines', 'revoke', '1', '--reason', 'a slip', '--by', 'Bo');
    expect(await world.run('lines', 'revoke', '1', '--reason', 'a slip', '--by', 'Bo')).toEqual(revoked);
    expect((await world.run(...add('2026-01', '-1.50'))).code).toBe(0);
    const again = await world.run('lines', 'revoke', '1', '--reason', 'a slip');
    expect(again.err).toContain('line 1 was revoked at 2026-02-20T12:00:00.000Z by Bo');
    expect((await world.run('lines', 'revoke', '7', '--reason', 'a slip')).err).toContain('line 7 does not exist');
  });
});

function add(period: string, amount: string, currency = 'EUR', reason = REASON): string[] {
  const line = ['lines', 'add', '--tenant', 'acme', '--period', period, '--amount', amount];
  return [...line, '--currency', currency, '--reason', reason];
}

/** acme uses 1,000 credits in January and 5,000 in February, at a cent each. */
const createPriced = copiesOf(async () => {
  const world = await createWorld(FIRST);
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [CARD] }));
  await world.run('sync');
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).code).toBe(0);
  world.clock.nowMs = NOON;
  return world;
});

async function closeMonth(world: World, period: string): Promise<void> {
  expect((await world.run('close', period, '--by', 'Ada', '--note', 'Ada', '--force')).code).toBe(0);
}

function charges(world: World, period: string): unknown[] {
  return world.query(
    `SELECT amount, currency, correction_minor AS correction, manual_minor AS manual FROM finance_charges
     WHERE tenant_id = 'acme' AND period = '${period}' ORDER BY currency`,
  );
}

async function totalOf(world: World, period: string): Promise<{ currency: string }[]> {
  return parseJson((await world.run('statement', period, '--tenant', 'acme', '--format', 'json')).out).totals;
}

async function fileOf(world: World, name: string, format: string): Promise<string> {
  const statement = ['statement', '2026-01', '--for-tenant', 'acme', '--format', format, '--out', name];
  expect((await world.run(...statement)).code).toBe(0);
  return readFileSync(join(world.folder, name), 'utf8');
}
