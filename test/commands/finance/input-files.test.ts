import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { rowsXml, workbook } from '../../input-files/write-workbook.ts';
import { createWorld, FIRST, parseJson, row, type World } from '../world.ts';

/** Closed January: acme 1,200.00 EUR, beta 45.50, gamma 12,345.67, "delta, inc" 0.99, as the invoices of the fixtures have it. */
async function createJanuary(): Promise<World> {
  const credits = { acme: 120_000, beta: 4550, gamma: 1_234_567, 'delta, inc': 99 };
  const usage = Object.entries(credits).map(([tenant, used]) => row(tenant, '2026-01', used));
  const world = await createWorld({ ...FIRST, usage });
  await world.run('migrate');
  const cards = [{ name: 'euro', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' }];
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: cards }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  await world.run('close', '2026-01', '--force');
  return world;
}

function fixture(name: string): Buffer {
  return readFileSync(new URL(`../../input-files/fixtures/${name}`, import.meta.url));
}

const COLUMNS = ['--tenant-column', 'customer', '--amount-column', 'net', '--no-service'];
const RECORD = ['--record', '--by', 'Ada'];

function reconcile(world: World, name: string, bytes: Buffer | string, ...argv: string[]) {
  writeFileSync(join(world.folder, name), bytes);
  return world.run('reconcile', name, '--period', '2026-01', ...COLUMNS, ...argv);
}

const recorded = (world: World) => world.query('SELECT matched, missing FROM finance_reconciliations');

test('each form of the same invoices matches', async () => {
  const world = await createJanuary();
  const names = ['blank-rows.csv', 'short-rows.csv', 'title-lines.csv', 'header-case.csv'].map(
    (name) => `invoices-${name}`,
  );
  for (const name of [...names, 'invoices.xlsx']) {
    const { code, out, err } = await reconcile(world, name, fixture(name));
    expect([name, code, err]).toEqual([name, 0, '']);
    expect(out).toContain('4 matched\n0 missing');
    expect(out).toContain('ledger 13,592.16 EUR, invoice 13,592.16 EUR');
  }
});

test('a file without an invoice is refused, and nothing is recorded', async () => {
  const world = await createJanuary();
  const header = rowsXml([['customer', 'net']]);
  for (const [name, bytes, message] of [
    ['empty.csv', fixture('invoices-empty.csv'), 'empty.csv is empty (0 bytes)'],
    ['login.csv', fixture('invoices-login-page.csv'), 'login.csv is an HTML page (it begins with "<!doctype html>")'],
    ['header.csv', 'customer,net\n', 'header.csv has no rows below its header (line 1)'],
    [
      'header.xlsx',
      workbook({ sheets: [{ name: 'A', xml: header }] }),
      'header.xlsx has no rows below its header (row 1)',
    ],
    [
      'total.csv',
      'customer,net\nTotal,0.00\n',
      'total.csv, line 2, column customer: "Total" is a totals row, and no row has a tenant',
    ],
    ['cut.xlsx', fixture('invoices.xlsx').subarray(0, 500), 'cut.xlsx is an incomplete or damaged ZIP archive'],
  ] as const) {
    const { code, err } = await reconcile(world, name, bytes, ...RECORD);
    expect([code, err]).toEqual([2, expect.stringContaining(`error: ${message}`)]);
  }
  expect(recorded(world)).toEqual([]);
  expect((await reconcile(world, 'invoices.xlsx', fixture('invoices.xlsx'), ...RECORD)).code).toBe(0);
  expect(recorded(world)).toEqual([{ matched: 4, missing: 0 }]);
});

test('numbers of a workbook have a point, whatever --decimal says of its texts', async () => {
  const world = await createJanuary();
  const invoices = [
    ['acme', '1.200,00'],
    ['beta', '<c><f>B9-B8</f><v>45.499999999999996</v></c>'],
    ['gamma', 12345.67],
    ['delta, inc', 0.99],
    ['Total', 13592.16],
  ] as const;
  const xml = rowsXml([['customer', 'net'], ...invoices]);
  const sheets = [
    { name: 'Notes', xml: rowsXml([['x']]) },
    { name: 'May', xml },
  ];
  const { code, err, out } = await reconcile(
    world,
    'inv.xlsx',
    workbook({ sheets }),
    '--sheet',
    'may',
    '--decimal',
    'comma',
  );
  expect([code, err]).toEqual([0, '']);
  expect(out).toContain('4 matched\n');
});

test.each([
  ['12.345', '"12.345" has more decimals than the currency'],
  ['<c s="1"><v>46327</v></c>', '"2026-11-01" is a date, not an amount'],
  ['<c t="b"><v>1</v></c>', '"TRUE" is not an amount'],
  ['<c t="e"><v>#N/A</v></c>', 'the cell has the error #N/A'],
  ['45.50%', '"45.50%" is not an amount'],
])('a cell %s is no amount, and named by its address', async (cell, why) => {
  const world = await createJanuary();
  const net = /^\d+\.\d+$/.test(cell) ? Number(cell) : cell;
  const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>';
  const xml = rowsXml([
    ['customer', 'net'],
    ['acme', 1200],
    ['beta', net],
  ]);
  const { code, err } = await reconcile(world, 'inv.xlsx', workbook({ sheets: [{ name: 'A', xml }], styles }));
  expect([code, err]).toEqual([2, expect.stringContaining(`inv.xlsx, cell B3 (column net): ${why}`)]);
});

test('a fraction in a workbook is no number of credits', async () => {
  const world = await createJanuary();
  const bytes = (used: number) =>
    workbook({
      sheets: [
        {
          name: 'A',
          xml: rowsXml([
            ['customer', 'used'],
            ['acme', used],
          ]),
        },
      ],
    });
  const compare = async (used: number) => {
    writeFileSync(join(world.folder, 'used.xlsx'), bytes(used));
    const columns = ['--tenant-column', 'customer', '--credits-column', 'used', '--no-service', '--json'];
    return world.run('reconcile', 'used.xlsx', '--period', '2026-01', ...columns);
  };
  expect((await compare(1.234)).err).toContain('cell B2 (column used): "1.234" is not a whole number of credits');
  const { rows } = parseJson((await compare(120_000)).out);
  expect(rows[0]).toMatchObject({ tenant_id: 'acme', status: 'matched' });
});

test('ids that differ in case or space from a tenant are pointed out', async () => {
  const world = await createJanuary();
  const { code, err } = await reconcile(
    world,
    'inv.csv',
    'customer,net\nAcme,1200.00\n beta,45.50\ngamma,12345.67\nghost,1\n',
  );
  expect(code).toBe(4);
  expect(err).toBe(
    'inv.csv, line 2, column customer: "Acme" is not a known tenant. Did you mean "acme"?\n' +
      'inv.csv, line 3, column customer: " beta" is not a known tenant. Did you mean "beta"?\n',
  );
  writeFileSync(join(world.folder, 'names.csv'), 'Tenant_ID,display_name\nACME,Acme\nbeta,Beta\nghost,G\n');
  const { out } = await world.run('tenants', 'import', 'names.csv', '--dry-run');
  expect(out).toContain(
    '2 not in the ledger, skipped: ACME, ghost\n"ACME" is not a known tenant. Did you mean "acme"?\n',
  );
  expect(
    parseJson((await world.run('tenants', 'import', 'names.csv', '--dry-run', '--json')).out).did_you_mean,
  ).toEqual([{ tenant_id: 'ACME', known: 'acme' }]);
});

test('names come from a workbook; an empty file, or one that only begins like a workbook, is refused', async () => {
  const world = await createJanuary();
  const importNames = (name: string, bytes: Buffer | string) => {
    writeFileSync(join(world.folder, name), bytes);
    return world.run('tenants', 'import', name);
  };
  expect((await importNames('customers.xlsx', fixture('customers.xlsx'))).out).toContain('2 named, 0 changed');
  expect((await importNames('empty.csv', '')).err).toContain('empty.csv is empty');
  expect(await importNames('cut.xlsx', 'PK\u0003\u0004')).toMatchObject({
    code: 2,
    err: expect.stringContaining('incomplete'),
  });
  expect(await importNames('twice.csv', 'tenant_id\nacme\nacme\n')).toMatchObject({
    code: 2,
    err: expect.stringContaining('twice.csv, line 3, column tenant_id: "acme" appears twice'),
  });
});

test('rate cards are not read from a workbook or a page', async () => {
  const world = await createJanuary();
  for (const name of ['customers.xlsx', 'invoices-login-page.csv', 'invoices-empty.csv']) {
    writeFileSync(join(world.folder, name), fixture(name));
    for (const command of ['apply', 'check']) {
      const { code, err } = await world.run('rates', command, name);
      expect([code, err]).toEqual([
        2,
        expect.stringMatching(/is (?:an Excel workbook|an HTML page|empty).*\n.*write the cards as YAML/),
      ]);
    }
  }
});
