import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { copiesOf, createWorld, FIRST, parseJson, row, type World } from '../world.ts';

// cspell:ignore größe söhne

/** January: acme 12,150.00 EUR, zoë 75.50 EUR, tokyo 7,500 JPY. */
const createBilled = copiesOf(async () => {
  const usage = [row('acme', '2026-01', 1_215_000), row('zoe', '2026-01', 7550), row('tokyo', '2026-01', 7500)];
  const world = await createWorld({ ...FIRST, usage });
  await world.run('migrate');
  const cards = [
    { name: 'euro', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' },
    { name: 'yen', from_period: '2026-01', tenant: 'tokyo', currency: 'JPY', price_per_credit: '1' },
  ];
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: cards }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  writeFileSync(
    join(world.folder, 'names.csv'),
    'tenant_id,display_name,external_ref\nacme,Acme,C-1\nzoe,Zoë,C-2\ntokyo,東京,C-3\n',
  );
  expect((await world.run('tenants', 'import', 'names.csv')).code).toBe(0);
  return world;
});

function reconcile(world: World, file: string | Buffer, ...argv: string[]) {
  writeFileSync(join(world.folder, 'invoices.csv'), file);
  const columns = ['--tenant-column', 'Customer', '--amount-column', 'Net'];
  return world.run('reconcile', 'invoices.csv', '--period', '2026-01', '--no-service', ...columns, ...argv);
}

const CURRENCY = ['--currency-column', 'Currency'];
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

test.each<[shape: string, file: string | Buffer, ...argv: string[]]>([
  ['plain', 'Customer,Net,Currency\nacme,12150.00,EUR\nzoe,75.50,EUR\ntokyo,7500,JPY\n'],
  ['of Stripe, by reference', 'Customer,Net,Currency\nC-1,"12,150.00",eur\nC-2,75.50,eur\nC-3,"7,500",jpy\n'],
  ['of Excel in German', 'Customer;Net;Currency\r\nacme;12.150,00 €;EUR\r\nzoe;75,50 €;EUR\r\ntokyo;7.500;JPY\r\n'],
  ['of Excel in French', 'Customer;Net;Currency\nacme;12\u202f150,00;EUR\nzoe;75,50;EUR\ntokyo;7\u00a0500;JPY\n'],
  ['of Excel in Swiss German', "Customer;Net;Currency\nacme;12'150.00;EUR\nzoe;75.50;EUR\ntokyo;7'500;JPY\n"],
  [
    'of Excel in American, with a mark',
    '\ufeffCustomer,Net,Currency\nacme,"€12,150.00",EUR\nzoe,€75.50,EUR\ntokyo,"7,500",JPY\n',
  ],
  ['of tabs', 'Customer\tNet\tCurrency\nacme\t12150.00\tEUR\nzoe\t75.50\tEUR\ntokyo\t7500\tJPY\n'],
  ['in UTF-16', utf16('Customer\tNet\tCurrency\nacme\t12.150,00\tEUR\nzoe\t75,50\tEUR\ntokyo\t7500\tJPY\n')],
  [
    'in Latin-1',
    Buffer.from('Customer;Net;Currency;Größe\nacme;12150,00;EUR;ü\nzoe;75,50;EUR;ß\ntokyo;7500;JPY;é\n', 'latin1'),
  ],
  [
    'with the sum of each currency at its end',
    'Customer,Net,Currency\nacme,12150.00,EUR\nzoe,75.50,EUR\ntokyo,7500,JPY\nTotal EUR,12225.50,EUR\n,7500,JPY\n',
  ],
  ['that names its delimiter', 'sep=;\nCustomer;Net;Currency\nacme;12150,00;EUR\nzoe;75,50;EUR\ntokyo;7500;JPY\n'],
  [
    'in UTF-16 the other way round, with quotes',
    utf16('Customer,Net,Currency\r\n"acme","12,150.00",EUR\r\n"zoe",75.50,EUR\r\n"tokyo",7500,JPY\r\n').swap16(),
  ],
  [
    'with credit notes in three forms',
    'Customer,Net,Currency\nacme,12200.00,EUR\nacme,-20.00,EUR\nacme,(20.00),EUR\nacme,10.00-,EUR\nzoe,75.50,EUR\ntokyo,7500,JPY\n',
  ],
])('an invoice export %s is reconciled', async (_, file) => {
  const world = await createBilled();
  const { code, err, out } = await reconcile(world, file, ...CURRENCY, '--json');
  expect([err, parseJson(out).rows.filter(({ status }: { status: string }) => status !== 'matched')]).toEqual(['', []]);
  expect(code).toBe(0);
  expect(parseJson(out).totals.amounts).toEqual([
    { currency: 'EUR', ledger: '12225.50', invoice: '12225.50' },
    { currency: 'JPY', ledger: '7500', invoice: '7500' },
  ]);
});

test('of a ledger with two currencies one can be reconciled by itself', async () => {
  const world = await createBilled();
  const euros = 'Customer,Net\nacme,12150.00\nzoe,75.50\n';
  expect((await reconcile(world, euros)).err).toContain('the period has several');
  expect(await reconcile(world, euros, '--currency', 'EUR')).toMatchObject({ code: 0, err: '' });
});

test('what is missing in one currency is told there', async () => {
  const world = await createBilled();
  const { code, out } = await reconcile(
    world,
    'Customer,Net,Currency\nacme,12150.00,EUR\nzoe,75.50,EUR\ntokyo,40.00,EUR\n',
    ...CURRENCY,
  );
  expect(code).toBe(4);
  expect(out).toMatch(/tokyo +東京 +extra +40\.00 +EUR\n/);
  expect(out).toMatch(/tokyo +東京 +missing +7,500 +7,500 +JPY\n/);
});

test('the columns of a file of Stripe are named as they are there, notes over several lines among them', async () => {
  const world = await createBilled();
  const file = [
    'id,Customer,Customer Name,Description,Currency,Amount Due,Status',
    'in_1Q,acme,"Acme, Inc.","January\nand a ""credit""",eur,12150.00,open',
    'in_1R,zoe,Zoë,,eur,"75,50x",open',
  ];
  const columns = ['--amount-column', 'Amount Due', '--currency', 'EUR'];
  expect(await reconcile(world, file.join('\n').replace('"75,50x"', '75.50'), ...columns)).toMatchObject({ code: 0 });
  expect((await reconcile(world, file.join('\n'), ...columns)).err).toContain(
    'line 4, column Amount Due: "75,50x" is not an amount',
  );
});

test('a line of no tenant that is not the sum of the others is refused', async () => {
  const world = await createBilled();
  const { code, err } = await reconcile(world, 'Customer,Net\nacme,1\nTotal,2\n', '--currency', 'EUR');
  expect([code, err]).toEqual([2, expect.stringContaining('line 3, column Customer: "Total" is not a tenant')]);
});

test.each([
  ['12,15O.00', 'is not an amount'],
  ['1.2.3,4,5', 'is not an amount'],
  ['45.50%', '"45.50%" is not an amount'],
  ['12.155', '"12.155" is ambiguous\n  add --decimal point or --decimal comma'],
  ['12.1555', '"12.1555" has more decimals than the currency'],
  ['', 'is not an amount'],
])('an amount %j is refused with its line and column', async (amount, why) => {
  const world = await createBilled();
  const { code, err } = await reconcile(world, `Customer,Net\nacme,1\nzoe,"${amount}"\n`, '--currency', 'EUR');
  expect(code).toBe(2);
  expect(err).toContain(`line 3, column Net: ${JSON.stringify(amount)}`);
  expect(err).toContain(why);
});

test('where every amount could be read in two ways, --decimal says which it is', async () => {
  const world = await createBilled();
  const file = 'Customer,Net,Currency\nacme,12.150,EUR\n';
  expect((await reconcile(world, file, ...CURRENCY)).code).toBe(2);
  const { out } = await reconcile(world, file, ...CURRENCY, '--decimal', 'comma');
  expect(out).toContain('invoice 12,150.00 EUR');
});

test('names from a Latin-1 file are read as they are, and a file of unknown bytes is refused', async () => {
  const world = await createBilled();
  writeFileSync(
    join(world.folder, 'latin.csv'),
    Buffer.from('tenant_id,display_name\nacme,Müller & Söhne\n', 'latin1'),
  );
  expect((await world.run('tenants', 'import', 'latin.csv')).code).toBe(0);
  expect(world.query("SELECT display_name FROM finance_tenants WHERE tenant_id = 'acme'")).toEqual([
    { display_name: 'Müller & Söhne' },
  ]);
  writeFileSync(join(world.folder, 'bytes.csv'), Buffer.from([0x61, 0x81, 0x00, 0xff]));
  const { code, err } = await world.run('tenants', 'import', 'bytes.csv');
  expect([code, err]).toEqual([2, expect.stringContaining('bytes.csv is not a text file')]);
});

test('why sides differ is said: late usage, rounding, another card', async () => {
  const world = await createBilled();
  world.sandbox.workspace('ws-1').set({ tenantId: 'zoe', period: '2026-01', credits: 8000, requests: 10 });
  world.clock.nowMs += 3_600_000;
  expect((await world.run('sync')).code).toBe(0);
  const file = 'Customer,Net,Currency,Credits\nacme,12149.99,EUR,1215000\nzoe,75.50,EUR,7550\ntokyo,8000,JPY,7500\n';
  const causes = async (...argv: string[]) => {
    const { rows } = parseJson((await reconcile(world, file, ...CURRENCY, '--json', ...argv)).out);
    return Object.fromEntries(rows.map((one: { tenant_id: string; cause: string }) => [one.tenant_id, one.cause]));
  };

  expect(await causes('--credits-column', 'Credits')).toEqual({
    ...{ acme: 'rounding', zoe: 'late_usage', tokyo: 'other_card' },
  });
  // Without credits only what the ledger once had tells usage that came late from another price.
  expect(await causes()).toEqual({ acme: 'rounding', zoe: 'late_usage', tokyo: null });
});

test.each([
  ['a code', 'EUR 12150.00', 'USD 75.50', 'other currency USD'],
  ['a sign', '€12150.00', '£75.50', 'other currency £'],
  ['a sign behind', '12150.00 €', '75.50 $', 'other currency $'],
  ['a sign of Asia', '12150.00', '￥75.50', 'other currency ￥'],
])('an amount with %s of another currency is named and no match, whatever its number is', async (_, acme, zoe, why) => {
  const world = await createBilled();
  const file = `Customer,Net,Currency\nacme,${acme},EUR\nzoe,${zoe},EUR\ntokyo,¥7500,JPY\n`;
  const { code, out } = await reconcile(world, file, ...CURRENCY);
  expect(code).toBe(4);
  expect(out).toMatch(new RegExp(`^zoe .* different .*${why.replace('$', '\\$')}$`, 'm'));
  expect(out).toContain('2 matched');
  const { rows } = parseJson((await reconcile(world, file, ...CURRENCY, '--json')).out);
  expect(rows[2]).toMatchObject({
    tenant_id: 'zoe',
    status: 'different',
    cause: 'other_currency',
    invoice_amount: null,
  });
});

test('a sign that several currencies have contradicts none of them', async () => {
  const world = await createBilled();
  const cards = ['USD', 'CAD', 'AUD'].map((currency, at) => ({
    ...{ name: currency, from_period: '2026-01', currency, price_per_credit: '0.01' },
    tenant: ['acme', 'zoe', 'tokyo'][at],
  }));
  writeFileSync(join(world.folder, 'dollars.yml'), stringify({ rates: cards }));
  await world.run('rates', 'apply', 'dollars.yml', '--yes');
  const file = 'Customer,Net,Currency\nacme,$12150.00,USD\nzoe,$75.50,CAD\ntokyo,$75.00,AUD\n';
  expect(await reconcile(world, file, ...CURRENCY)).toMatchObject({ code: 0 });
});

test('yen have thousands before three digits, where the column says nothing else', async () => {
  const world = await createBilled();
  const file = 'Customer,Net,Currency\nC-3,"7,500",JPY\n';
  expect((await reconcile(world, file, '--currency', 'JPY')).out).toContain('1 matched');
  expect((await reconcile(world, file.replace(',500', '.500'), '--currency', 'JPY')).out).toContain('1 matched');
  expect((await reconcile(world, file.replace('JPY', 'EUR'), '--currency', 'EUR')).err).toContain(
    '"7,500" is ambiguous',
  );
});

test('two columns of one name are refused, in names for tenants, too', async () => {
  const world = await createBilled();
  const twice = await reconcile(world, 'Customer,Net,Net\nacme,12150.00,1.00\n');
  expect(twice).toMatchObject({ code: 2, out: '', err: expect.stringContaining('two columns are called "Net"') });
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,region,region\nacme,north,south\n');
  const names = await world.run('tenants', 'import', 'names.csv');
  expect(names).toMatchObject({ code: 2, err: expect.stringContaining('two columns are called "region"') });
  expect(await reconcile(world, 'Customer,Net,,\nacme,12150.00,,\nzoe,75.5,,\n', '--currency', 'EUR')).toMatchObject({
    code: 0,
  });
});
