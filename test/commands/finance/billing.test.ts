import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { brokenRules, readFocus } from '../../billing/focus/focus-rules.ts';
import { copiesOf, createWorld, FIRST, NOON, parseJson, row, type World, workspaceSettings } from '../world.ts';

// cspell:ignore emea

const HOUR = 3_600_000;
const CARD = { name: 'standard', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.0125', minimum: '15' };
const USAGE = [row('acme', '2026-01', 1000), row('acme', '2026-02', 5000), row('globex', '2026-01', 2000)];

/** A world with imported rate cards, whose January two walks 12 h apart have proven. */
const createBilled = copiesOf(async (cards: object[] = [CARD]) => {
  const world = await createWorld({ ...FIRST, usage: USAGE });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: cards }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).err).toBe('');
  await world.run('sync');
  world.clock.nowMs = NOON + 13 * HOUR;
  await world.run('sync');
  return world;
});

describe('rates', () => {
  it('are put into force, listed, and left as they are when they are applied again', async () => {
    const world = await createBilled();
    expect((await world.run('rates', 'list')).out).toMatch(/standard +price +2025-12 .*EUR +graduated +import/);
    expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).out).toBe(
      'These rate cards are already active.\n',
    );
    expect(world.query("SELECT tenant_id, amount_minor FROM finance_charges WHERE period = '2026-01'")).toEqual([
      { tenant_id: 'acme', amount_minor: 1500 },
      { tenant_id: 'globex', amount_minor: 2500 },
    ]);
  });

  it('are listed for one month, and cut by --limit', async () => {
    const ended = { ...CARD, name: 'old', from_period: '2025-01', to_period: '2025-11' };
    const world = await createBilled([CARD, ended]);
    const names = async (...argv: string[]) => {
      const { out, err } = await world.run('rates', 'list', ...argv, '--json');
      return { names: parseJson(out).rows.map(({ name }: { name: string }) => name), err };
    };
    expect((await names()).names.toSorted()).toEqual(['old', 'standard']);
    expect(await names('--period', '2026-02')).toEqual({ names: ['standard'], err: '' });
    expect(await names('--period', '2025-11')).toEqual({ names: ['old'], err: '' });
    expect(await names('--period', '2024-12')).toEqual({ names: [], err: 'no rate card covers 2024-12\n' });
    expect((await names('--limit', '1')).err).toBe('1 more\n');
  });

  it('with mistakes are refused as a whole, each mistake with its place and remedy', async () => {
    const world = await createBilled();
    const wrong = [
      { ...CARD, price_per_credit: 0.5 },
      { ...CARD, currency: 'EURO', from_period: '2026-13' },
    ];
    writeFileSync(join(world.folder, 'wrong.yml'), stringify({ rates: wrong }));
    const { code, err } = await world.run('rates', 'apply', 'wrong.yml', '--yes');
    expect(code).toBe(2);
    expect(err).toContain('rates[0].price_per_credit: must be text, not a fraction');
    expect(err).toContain('rates[1].currency: is not a currency of ISO 4217');
    expect(err).toContain('rates[1].from_period: is not a month');
    expect((await world.run('rates', 'list')).out).toContain('standard');
  });

  it('come into force from the configuration as an act, with amounts as people and machines read them', async () => {
    const world = await createBilled();
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, rates: [{ ...CARD, name: 'own', price_per_credit: '1' }] });
    expect((await world.run('rates', 'apply', '--yes')).code).toBe(0);
    const statement = ['statement', '2026-01', '--tenant', 'acme'];
    expect((await world.run(...statement)).out).toContain('total 1,000.00 EUR');
    const html = (await world.run(...statement, '--format', 'html')).out;
    expect(html).toContain('<td class="number">1,000.00 EUR</td>');
    // Machines get the digits alone.
    expect((await world.run(...statement, '--format', 'csv')).out).toContain(',1000.00,EUR,');
    expect((await world.run('report', '--period', '2026-01', '--out', 'page.html')).code).toBe(0);
    const page = readFileSync(join(world.folder, 'page.html'), 'utf8');
    expect(page).toMatch(/>\d{1,3}(,\d{3})+\.\d\d[ <]/);
    expect(page).not.toMatch(/>-?\d{4,}\.\d\d[ <]/);
  });

  it('of a file are tried on the history: by month and by the tenants that gain or lose most', async () => {
    const world = await createBilled();
    writeFileSync(join(world.folder, 'dearer.yml'), stringify({ rates: [{ ...CARD, price_per_credit: '0.02' }] }));
    writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name\nacme,Acme & Sons\n');
    await world.run('tenants', 'import', 'names.csv');
    const { out } = await world.run('rates', 'check', 'dearer.yml', '--json');
    expect(parseJson(out)).toEqual({
      months: [
        { period: '2026-01', currency: 'EUR', now: '40.00', other: '60.00', difference: '20.00' },
        { period: '2026-02', currency: 'EUR', now: '62.50', other: '100.00', difference: '37.50' },
      ],
      tenants: [
        {
          workspace_id: 'ws-1',
          tenant_id: 'acme',
          display_name: 'Acme & Sons',
          currency: 'EUR',
          now: '77.50',
          other: '120.00',
          difference: '42.50',
        },
        {
          workspace_id: 'ws-1',
          tenant_id: 'globex',
          display_name: null,
          currency: 'EUR',
          now: '25.00',
          other: '40.00',
          difference: '15.00',
        },
      ],
      unpriced: [],
    });
    const { out: table } = await world.run('rates', 'check', 'dearer.yml');
    expect(table).toContain('With these cards');
    expect(table).toMatch(/^acme +Acme & Sons +77\.50 +120\.00 +42\.50/m);
  });
});

describe('statement', () => {
  it('says lines, totals, and whether it is an estimate', async () => {
    const world = await createBilled();
    const { out, err } = await world.run('statement', '2026-02');
    expect(err).toBe('');
    expect(out).toMatch(/^ws-1, 2026-02: estimate \(month not over\)\nas of .*, verified by run_/);
    expect(out).toMatch(/acme +usage, tier 1 +5,000 +0\.0125 +62\.50 +EUR +standard/);
    expect(out).toMatch(/total 62\.50 EUR\nprojected total: [\d,]+ credits and [\d,.]+ EUR\n$/);
  });

  it('of a closed period proves itself offline, and fails with a digit changed', async () => {
    const world = await createBilled();
    const { out: closed } = await world.run('close', '2026-01', '--by', 'Ada');
    const digest = /head digest ([0-9a-f]{64})/.exec(closed)?.[1];
    const { out } = await world.run('statement', '2026-01', '--tenant', 'acme', '--format', 'json');
    expect((await world.run('statement', '2026-01', '--tenant', 'acme', '--json')).out).toBe(out);
    writeFileSync(join(world.folder, 'acme.json'), out);
    const verify = (...args: string[]) => world.run('statement', 'verify', ...args);
    const unanchored = await verify('acme.json');
    expect(unanchored.code).toBe(2);
    expect(unanchored.err).toMatch(/proves nothing: [\s\S]*--digest[\s\S]*--checkpoint[\s\S]*--ledger/);
    const good = await verify('acme.json', '--digest', String(digest));
    expect(good.code).toBe(0);
    expect(good.out).toMatch(
      /^ws-1, 2026-01: authentic \(1 of 2 tenants, closed at \S+Z\)\nThe digest of the close matches/,
    );
    const other = await verify('acme.json', '--digest', '0'.repeat(64));
    expect(other).toMatchObject({ code: 4, out: expect.stringMatching(/^ws-1, 2026-01: NOT authentic/) });
    expect((await verify('acme.json', '--digest', 'abc')).code).toBe(2);
    writeFileSync(join(world.folder, 'forged.json'), out.replace('"credits_used": 1000', '"credits_used": 1001'));
    const forged = await verify('forged.json', '--digest', String(digest), '--json');
    expect(forged.code).toBe(4);
    expect(parseJson(forged.out)).toMatchObject({ authentic: false, agrees: false, reason: expect.any(String) });
    writeFileSync(join(world.folder, 'half.json'), out.slice(0, 500));
    expect((await verify('half.json', '--ledger')).code).toBe(4);
    expect((await verify('missing.json', '--ledger')).code).toBe(2);
    const alone = await verify('acme.json', '--consistency-only');
    expect(alone).toMatchObject({ code: 0, out: expect.stringContaining('Nothing is authenticated') });
    expect((await verify('acme.json', '--consistency-only', '--ledger')).code).toBe(2);
  });

  it('is authentic by the checkpoint of its close, if it was signed by the key that is named', async () => {
    const world = await createBilled();
    await world.run('close', '2026-01', '--by', 'Ada');
    const { out } = await world.run('statement', '2026-01', '--format', 'json');
    writeFileSync(join(world.folder, 'all.json'), out);
    const key = /checkpoint key (\S+)/.exec((await world.run('verify')).out)?.[1] ?? '';
    const log = join(dirname(world.ledgerPath), 'checkpoints.log');
    const verify = (...args: string[]) => world.run('statement', 'verify', 'all.json', '--checkpoint', ...args);
    expect(await verify(log, '--checkpoint-key', key)).toMatchObject({ code: 0 });
    expect((await verify(log)).code).toBe(2);
    expect((await verify(log, '--checkpoint-key', key.slice(1))).code).toBe(2);
    // The public key of RFC 8032's first test.
    const strangersKey = 'MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=';
    expect(await verify(log, '--checkpoint-key', strangersKey)).toMatchObject({
      code: 4,
      out: expect.stringContaining('is not signed by --checkpoint-key'),
    });
    const others = readFileSync(log, 'utf8')
      .split(/(?<=\n)/)
      .slice(0, -1);
    writeFileSync(join(world.folder, 'before.log'), others.join(''));
    expect(await verify('before.log', '--checkpoint-key', key)).toMatchObject({
      code: 4,
      out: expect.stringContaining('No checkpoint matches the close.'),
    });
  });

  it('is superseded once its period was reopened, which the ledger tells', async () => {
    const world = await createBilled();
    await world.run('close', '2026-01', '--by', 'Ada');
    const { out } = await world.run('statement', '2026-01', '--format', 'json');
    writeFileSync(join(world.folder, 'all.json'), out);
    const verify = (...more: string[]) => world.run('statement', 'verify', 'all.json', '--ledger', ...more);
    expect(await verify()).toMatchObject({ code: 0, out: expect.stringContaining(': authentic (') });
    await world.run('reopen', '2026-01', '--by', 'Grace', '--note', 'late usage');
    const reopened = await verify();
    expect(reopened.code).toBe(4);
    expect(reopened.out).toMatch(/: superseded [\s\S]*The period was reopened at \S+Z by Grace/);
    await world.run('close', '2026-01', '--by', 'Ada');
    const { code, out: json } = await verify('--json');
    expect(code).toBe(4);
    expect(parseJson(json)).toMatchObject({ superseded_by: { action: 'close', actor: 'Ada' } });
  });

  it('has corrections of closed periods as lines of their own, on the prices of the close', async () => {
    const world = await createBilled();
    await world.run('close', '2026-01', '--by', 'Ada');
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 3000, requests: 10 });
    writeFileSync(join(world.folder, 'dear.yml'), stringify({ rates: [{ ...CARD, price_per_credit: '9' }] }));
    await world.run('rates', 'apply', 'dear.yml', '--yes');
    await world.run('sync');
    const { out } = await world.run('statement', '2026-02', '--format', 'csv');
    expect(out).toContain('acme,,,correction,,2000,,,22.50,EUR,standard,2026-01');
  });

  it('says of a tenant without a rate card that it has none', async () => {
    const world = await createBilled([{ ...CARD, tenant: 'globex' }]);
    expect((await world.run('statement', '2026-01')).out).toMatch(/acme +not priced +1,000/);
  });

  it('refuses a period that the ledger does not know, and contradictions', async () => {
    const world = await createBilled();
    expect((await world.run('statement', '2031-01')).err).toContain('the ledger has no data for 2031-01');
    expect((await world.run('statement', '2026-01', '--json', '--format', 'csv')).code).toBe(2);
    expect((await world.run('statement', '2026-1')).code).toBe(2);
  });
});

describe('export focus', () => {
  it('writes a file that obeys the rules and sums to the bill', async () => {
    const world = await createBilled();
    const { out, err, code } = await world.run('export', 'focus', '--period', '2026-01');
    expect([code, err]).toEqual([0, '']);
    const { header, rows } = readFocus(out);
    expect(brokenRules(header, rows)).toEqual([]);
    expect(rows.map((line) => [line.SubAccountId, line.ChargeCategory, line.BilledCost])).toEqual([
      ['acme', 'Usage', '12.50'],
      ['acme', 'Adjustment', '2.50'],
      ['globex', 'Usage', '25.00'],
    ]);
  });

  it('of a period that the ledger does not know is the header alone, with a note', async () => {
    const world = await createBilled();
    const { out, err } = await world.run('export', 'focus', '--period', '2031-01');
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(err).toBe('the ledger has no data for 2031-01\n');
  });
});

describe('tenants', () => {
  it('get names from a file; the report says who is unknown and who is missing', async () => {
    const world = await createBilled();
    const csv = '\ufefftenant_id;display_name;external_ref;region\r\nacme;"Acme; Corp";K-1;emea\r\nghost;Nobody;;\r\n';
    writeFileSync(join(world.folder, 'names.csv'), csv);
    const dry = await world.run('tenants', 'import', 'names.csv', '--dry-run');
    expect(dry.out).toBe(
      '1 would be named, 0 would be changed, 0 unchanged\n' +
        '1 not in the ledger, skipped: ghost\n1 in the ledger only: globex\n',
    );
    expect(world.query('SELECT * FROM finance_tenants WHERE display_name IS NOT NULL')).toEqual([]);
    const done = await world.run('tenants', 'import', 'names.csv', '--json');
    expect(parseJson(done.out)).toMatchObject({
      dry_run: false,
      added: ['acme'],
      unknown: ['ghost'],
      missing: ['globex'],
    });
    expect((await world.run('tenants', 'import', 'names.csv')).out).toContain('0 named, 0 changed, 1 unchanged');
    expect((await world.run('tenants', 'list')).out).toMatch(/acme +Acme; Corp +K-1 +region=emea/);
    expect((await world.run('statement', '2026-01')).out).toContain('Acme; Corp');
  });

  it('are not taken from a file with a mistake', async () => {
    const world = await createBilled();
    const files = { 'twice.csv': 'tenant_id\na\na\n', 'none.csv': 'id\na\n', 'ragged.csv': 'tenant_id,x\na,b,c\n' };
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(world.folder, name), text);
      expect((await world.run('tenants', 'import', name)).code, name).toBe(2);
    }
    expect((await world.run('tenants', 'import', 'missing.csv')).code).toBe(2);
    expect(readFileSync(join(world.folder, 'none.csv'), 'utf8')).toBe('id\na\n');
  });
});

describe('reconcile', () => {
  const argv = ['reconcile', 'invoices.csv', '--period', '2026-01', '--tenant-column', 'customer'];

  it('says who is matched, missing, extra or different, and exits with 4 when somebody is', async () => {
    const world = await createBilled();
    writeFileSync(join(world.folder, 'invoices.csv'), 'customer,net\nacme,15.00\nghost,3.00\n');
    const { code, out } = await world.run(...argv, '--amount-column', 'net');
    expect(code).toBe(4);
    expect(out).toMatch(/ghost +extra +3\.00 +EUR\n/);
    expect(out).toMatch(/globex +missing +2,000 +2,000 +25\.00 +EUR\n/);
    expect(out).toContain('1 matched\n1 missing\n1 extra\n0 different\nledger 40.00 EUR, invoice 18.00 EUR\n');
  });

  it('is done when all agree, within the tolerance, over several lines of one tenant', async () => {
    const world = await createBilled();
    writeFileSync(
      join(world.folder, 'invoices.csv'),
      'customer,net,used\nacme,10.00,400\nacme,5.01,600\nglobex,25,2000\n',
    );
    const both = [...argv, '--amount-column', 'net', '--credits-column', 'used', '--json'];
    expect((await world.run(...both)).code).toBe(4);
    const { code, out } = await world.run(...both, '--tolerance', '0.01');
    expect(code).toBe(0);
    expect(parseJson(out).totals.tenants).toEqual({ matched: 2, missing: 0, extra: 0, different: 0 });
  });

  it('asks the service too, unless told not to', async () => {
    const world = await createBilled();
    writeFileSync(join(world.folder, 'invoices.csv'), 'customer,used\nacme,1000\nglobex,2000\n');
    const credits = [...argv, '--credits-column', 'used'];
    expect((await world.run(...credits)).code).toBe(0);
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 1001, requests: 10 });
    const moved = await world.run(...credits);
    expect(moved.code).toBe(4);
    expect(moved.out).toMatch(/acme +different +1,001 +1,000 +1,000/);
    expect((await world.run(...credits, '--no-service')).code).toBe(0);
  });

  it('refuses a file or a command line that says too little', async () => {
    const world = await createBilled();
    writeFileSync(join(world.folder, 'invoices.csv'), 'customer,net\nacme,fifteen\n');
    expect((await world.run(...argv)).err).toContain('no column to compare');
    expect((await world.run(...argv, '--amount-column', 'net')).err).toContain(
      'line 2, column net: "fifteen" is not an amount',
    );
    expect((await world.run(...argv, '--amount-column', 'gross')).err).toContain('has no column gross');
  });
});

describe('names and references', () => {
  const importNames = (world: World, ...lines: string[]) => {
    writeFileSync(join(world.folder, 'names.csv'), ['tenant_id,display_name,external_ref', ...lines, ''].join('\n'));
    return world.run('tenants', 'import', 'names.csv');
  };

  it('are refused as a whole where a reference is the id of another tenant, of the ledger or of the file', async () => {
    const world = await createBilled();
    for (const [line, id] of [
      ['acme,Acme,globex', 'globex'],
      ['acme,Acme,later', 'later'],
    ] as const) {
      const { code, err } = await importNames(world, line, 'later,Later,L-1');
      expect(code).toBe(2);
      expect(err).toContain(`the reference "${id}" of "acme" is the id of another tenant`);
    }
    expect(world.query('SELECT * FROM tenant_names')).toEqual([]);
    expect(await importNames(world, 'acme,Acme,acme')).toMatchObject({ code: 0 });
  });

  it('say which tenants have one reference then, those that the file does not name, too', async () => {
    const world = await createBilled();
    expect((await importNames(world, 'acme,Acme,C-1', 'globex,Globex,C-2')).out).not.toContain('sharing the reference');
    const { out } = await importNames(world, 'acme,Acme,C-2');
    expect(out).toContain('2 sharing the reference C-2: acme, globex\n');
    const json = await world.run('tenants', 'import', 'names.csv', '--json');
    expect(parseJson(json.out).shared).toEqual([{ reference: 'C-2', tenants: ['acme', 'globex'] }]);
  });

  it('of a closed month are in the view of charges as in its statement, and of others as they are now', async () => {
    const world = await createBilled();
    await importNames(world, 'acme,Old name,C-1');
    await world.run('close', '2026-01', '--force');
    await importNames(world, 'acme,New name,C-9');
    const names = "SELECT period, display_name, external_ref FROM finance_charges WHERE tenant_id = 'acme' ORDER BY 1";
    expect(world.query(names)).toEqual([
      { period: '2026-01', display_name: 'Old name', external_ref: 'C-1' },
      { period: '2026-02', display_name: 'New name', external_ref: 'C-9' },
    ]);
    const { tenants } = parseJson((await world.run('statement', '2026-01', '--tenant', 'acme', '--json')).out);
    expect(tenants[0]).toMatchObject({ display_name: 'Old name', external_ref: 'C-1' });
    // Corrections alone are named by the month in which they are booked.
    world.sandbox.workspace('ws-1').set({ tenantId: 'globex', period: '2026-01', credits: 9000, requests: 10 });
    await world.run('sync');
    await importNames(world, 'globex,Globex,G-1');
    const alone = "SELECT period, external_ref FROM finance_charges WHERE tenant_id = 'globex' ORDER BY 1";
    expect(world.query(alone)).toEqual([
      { period: '2026-01', external_ref: null },
      { period: '2026-02', external_ref: 'G-1' },
    ]);
  });
});

it('has amounts as numbers beside their text, to sort and to filter by', async () => {
  const yen = { name: 'yen', from_period: '2025-12', tenant: 'globex', currency: 'JPY', price_per_credit: '1' };
  const world = await createBilled([CARD, yen]);
  const charges = 'SELECT amount, amount_value FROM finance_charges ORDER BY amount_value DESC';
  expect(world.query(charges)).toEqual([
    { amount: '2000', amount_value: 2000 },
    { amount: '62.50', amount_value: 62.5 },
    { amount: '15.00', amount_value: 15 },
  ]);
  expect(world.query('SELECT count(*) AS n FROM finance_charges WHERE amount_value > 60')).toEqual([{ n: 2 }]);
  const lines = 'SELECT amount_value FROM finance_charge_lines WHERE amount_value < 20 ORDER BY 1';
  expect(world.query(lines)).toEqual([{ amount_value: 2.5 }, { amount_value: 12.5 }]);
});
