import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { copiesOf, createWorld, FIRST, parseJson, row, type World } from '../world.ts';

// cspell:ignore extf ohne rechnungen

const SECOND = { ...FIRST, id: 'ws-2', api_key_id: 'ak_second', secret_key: 'sk_second_not_a_secret' };
const CARDS = [
  { name: 'euro', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' },
  { name: 'yen', from_period: '2026-01', tenant: 'tokyo', currency: 'JPY', price_per_credit: '1' },
];
const NAMES = `tenant_id,external_ref\nacme,C-1\nacme-us,C-1\nzoe,C-2\ntokyo,C-3\n`;
/** Customer C-1 has two tenants: 12,150.00 EUR and 10.00 EUR. */
const INVOICES = 'Customer,Net,Currency,Number\nC-1,12160.00,EUR,R-1\nC-2,75.50,EUR,R-2\nC-3,7500,JPY,R-3\n';
const COLUMNS = ['--tenant-column', 'Customer', '--amount-column', 'Net', '--currency-column', 'Currency'];
const RECORD = [...COLUMNS, '--invoice-column', 'Number', '--record', '--by', 'Ada', '--note', 'run 12'];

/** January of one workspace, or of two that have tenants of the same names; closed unless it is to stay open. */
const createJanuary = copiesOf(async ({ workspaces = [FIRST], closed = true } = {}) => {
  const usage = [
    row('acme', '2026-01', 1_215_000),
    row('acme-us', '2026-01', 1000),
    row('zoe', '2026-01', 7550),
    row('tokyo', '2026-01', 7500),
  ];
  const world = await createWorld(...workspaces.map((one) => ({ ...one, usage })));
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: CARDS }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), NAMES);
  for (const { id } of workspaces) {
    expect((await world.run('tenants', 'import', 'names.csv', '--workspace', id)).code).toBe(0);
    if (closed) await world.run('close', '2026-01', '--workspace', id, '--force');
  }
  return world;
});

function reconcile(world: World, file: string, ...argv: string[]) {
  writeFileSync(join(world.folder, 'invoices.csv'), file);
  return world.run('reconcile', 'invoices.csv', '--period', '2026-01', '--no-service', ...argv);
}

const monthEnd = async (world: World) => (await world.run('month-end', '2026-01')).out;

test('what a comparison has found is a link of the chain, and the numbers of the invoices stand wherever a charge does', async () => {
  const world = await createJanuary();
  const json = ['statement', '2026-01', '--for-tenant', 'zoe', '--format', 'json'];
  const before = (await world.run(...json)).out;
  expect(await monthEnd(world)).toMatch(/ws-1 .* closed\n/);
  const [close] = world.query('SELECT event_seq, digest FROM finance_closes') as {
    event_seq: number;
    digest: string;
  }[];

  const { code, err } = await reconcile(world, INVOICES, ...RECORD);
  expect([code, err]).toEqual([
    0,
    expect.stringMatching(/^ws-1, 2026-01: reconciliation recorded, head digest \w{64}\n$/),
  ]);

  const [found, ...others] = world.query('SELECT * FROM finance_reconciliations') as Record<string, unknown>[];
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    workspace_id: 'ws-1',
    period: '2026-01',
    actor: 'Ada',
    note: 'run 12',
    file_name: 'invoices.csv',
    file_sha256: createHash('sha256').update(INVOICES).digest('hex'),
    matched: 3,
    missing: 0,
    extra: 0,
    different: 0,
    close_digest: close?.digest,
    in_force: 1,
    event_seq: (close?.event_seq ?? 0) + 1,
    previous_digest: close?.digest,
  });
  expect(parseJson(String(found?.amounts))).toEqual([
    { currency: 'EUR', ledger: '12235.50', invoice: '12235.50' },
    { currency: 'JPY', ledger: '7500', invoice: '7500' },
  ]);
  expect(err).toContain(String(found?.digest));
  expect((await world.run('verify', '--expect-head', String(found?.digest))).code).toBe(0);
  expect(await monthEnd(world)).toMatch(/ws-1 .* reconciled\n/);

  const numbers = { acme: 'R-1', 'acme-us': 'R-1', tokyo: 'R-3', zoe: 'R-2' };
  const byTenant = (rows: readonly object[], column: string) =>
    Object.fromEntries(
      (rows as Record<string, string>[]).map((one) => [one.tenant_id ?? one.SubAccountId, one[column]]),
    );
  const charges = world.query('SELECT tenant_id, invoice_number FROM finance_charges') as object[];
  expect(byTenant(charges, 'invoice_number')).toEqual(numbers);
  const csvOf = async (...argv: string[]) => parse((await world.run(...argv)).out, { columns: true }) as object[];
  expect(byTenant(await csvOf('statement', '2026-01', '--format', 'csv'), 'invoice_number')).toEqual(numbers);
  expect(byTenant(await csvOf('export', 'focus', '--period', '2026-01'), 'InvoiceId')).toEqual(numbers);
  await world.run('statement', '2026-01', '--each', '--out', 'out', '--format', 'html,json');
  const index = parse(readFileSync(join(world.folder, 'out', 'index.csv')), { columns: true }) as object[];
  expect(byTenant(index, 'invoice_number')).toEqual(numbers);
  // What proves itself is what was closed, and an invoice came later.
  expect((await world.run(...json)).out).toBe(before);
});

test('differences are recorded as they are; a reopen makes them those of a close that is no longer in force', async () => {
  const world = await createJanuary();
  const { code } = await reconcile(world, INVOICES.replace('75.50', '75.51').replace(/C-3.*/, ''), ...RECORD);
  expect(code).toBe(4);
  expect(world.query('SELECT matched, missing, extra, different FROM finance_reconciliations')).toEqual([
    { matched: 1, missing: 1, extra: 0, different: 1 },
  ]);
  expect(await monthEnd(world)).toMatch(/ws-1 .* invoices differ\n/);
  await reconcile(world, INVOICES, ...RECORD);
  expect(await monthEnd(world)).toMatch(/ws-1 .* reconciled\n/);

  await world.run('reopen', '2026-01', '--note', 'wrong');
  await world.run('close', '2026-01', '--force');
  expect(await monthEnd(world)).toMatch(/ws-1 .* closed\n/);
  expect(world.query('SELECT in_force FROM finance_reconciliations')).toEqual([{ in_force: 0 }, { in_force: 0 }]);
  expect(world.query('SELECT DISTINCT invoice_number FROM finance_charges')).toEqual([{ invoice_number: null }]);
  expect((await world.run('verify')).code).toBe(0);
});

test('a month that is not closed is compared, but not recorded', async () => {
  const world = await createJanuary({ closed: false });
  expect((await reconcile(world, INVOICES, ...COLUMNS)).code).toBe(0);
  const { code, err } = await reconcile(world, INVOICES, ...RECORD);
  expect([code, err]).toEqual([2, expect.stringContaining('ws-1, 2026-01: not closed')]);
  expect(world.query('SELECT * FROM finance_reconciliations')).toEqual([]);
});

test('one file may have the invoices of several workspaces, in minor units', async () => {
  const world = await createJanuary({ workspaces: [FIRST, SECOND] });
  const lines = ['acme,EUR,1215000', 'acme-us,EUR,1000', 'zoe,EUR,7550', 'tokyo,JPY,7500'];
  const file = (...ids: string[]) =>
    `Customer,Currency,Net,Workspace\n${ids.flatMap((id) => lines.map((line) => `${line},${id}\n`)).join('')}`;
  const argv = [...COLUMNS, '--workspace-column', 'Workspace', '--minor-units'];
  const both = await reconcile(world, file('ws-1', 'ws-2'), ...argv, '--record', '--json');
  expect(both.code).toBe(0);
  expect(parseJson(both.out).totals).toMatchObject({
    tenants: { matched: 8, missing: 0, extra: 0, different: 0 },
    amounts: [
      { currency: 'EUR', ledger: '24471.00', invoice: '24471.00' },
      { currency: 'JPY', ledger: '15000', invoice: '15000' },
    ],
  });
  expect(world.query('SELECT workspace_id, matched FROM finance_reconciliations ORDER BY 1')).toEqual([
    { workspace_id: 'ws-1', matched: 4 },
    { workspace_id: 'ws-2', matched: 4 },
  ]);

  const one = await reconcile(world, file('ws-1'), ...argv, '--json');
  expect(one.code).toBe(4);
  const missing = parseJson(one.out).rows.filter(({ status }: { status: string }) => status === 'missing');
  expect(missing.map((each: { workspace_id: string }) => each.workspace_id)).toEqual(Array(4).fill('ws-2'));
  expect((await reconcile(world, file('ws-1'), ...argv, '--workspace', 'ws-1')).code).toBe(0);
  expect((await reconcile(world, file('ws-9'), ...argv)).err).toContain(
    'line 2, column Workspace: "ws-9" is not a configured workspace',
  );
});

test.each([
  [
    'stripe',
    'id,number,customer_id,currency,subtotal\nin_1,R-1,C-1,eur,1216000\nin_2,R-2,C-2,eur,7550\nin_3,R-3,C-3,jpy,7500\n',
  ],
  [
    'xero',
    '*ContactName,*InvoiceNumber,Total,Quantity,LineAmount,Currency\nC-1,R-1,14470.40,1,12150.00,EUR\nC-1,R-1,14470.40,1,10.00,EUR\nC-2,R-2,89.85,1,75.50,EUR\nC-3,R-3,8250,1,7500,JPY\n',
  ],
  [
    'quickbooks',
    '*InvoiceNo,*Customer,*ItemAmount,Currency\nR-1,C-1,"12,160.00",EUR\nR-2,C-2,75.50,EUR\nR-3,C-3,"7,500",JPY\n',
  ],
  ['netsuite', 'Invoice #,Customer,Subtotal,Currency\nR-1,C-1,12160.00,EUR\nR-2,C-2,75.50,EUR\nR-3,C-3,7500,JPY\n'],
  [
    'datev',
    [
      '"EXTF";700;21;"Buchungsstapel";13;20260203140440439;;"RE";"";"";29098;55003;20260101;4;20260101;20260131;"Rechnungen"',
      'Umsatz (ohne Soll/Haben-Kz);Soll/Haben-Kennzeichen;WKZ Umsatz;Konto;Belegfeld 1',
      '12200,00;"S";"EUR";C-1;"R-1"',
      '40,00;"H";"EUR";C-1;"R-1"',
      '75,50;"S";"EUR";C-2;"R-2"',
      '7500;"S";"JPY";C-3;"R-3"',
    ].join('\r\n'),
  ],
])('a file of %s is read by its columns', async (preset, file) => {
  const world = await createJanuary();
  const { code, err } = await reconcile(world, file, '--preset', preset, '--record');
  expect([code, err]).toEqual([0, expect.stringContaining('reconciliation recorded, head digest')]);
  expect(world.query('SELECT tenant_id, invoice_number FROM finance_charges ORDER BY 1')).toEqual([
    { tenant_id: 'acme', invoice_number: 'R-1' },
    { tenant_id: 'acme-us', invoice_number: 'R-1' },
    { tenant_id: 'tokyo', invoice_number: 'R-3' },
    { tenant_id: 'zoe', invoice_number: 'R-2' },
  ]);
});

test('tenants that share a reference are added up where the file has the reference, and compared one by one where it has ids', async () => {
  const world = await createJanuary();
  const off = await reconcile(world, INVOICES.replace('12160.00', '12161.00'), ...COLUMNS);
  expect(off.out).toMatch(/acme \+ acme-us +different .*12,160\.00 +12,161\.00/);
  const byId = 'Customer,Net,Currency\nacme,12150.00,EUR\nacme-us,11.00,EUR\nC-2,75.50,EUR\nC-3,7500,JPY\n';
  const { out } = await reconcile(world, byId, ...COLUMNS);
  expect(out).toMatch(/acme-us +different/);
  expect(out).toContain('3 matched');
});

test('a closed month takes the reference of then and of now', async () => {
  const world = await createJanuary();
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,external_ref\nzoe,C-9\n');
  await world.run('tenants', 'import', 'names.csv');
  expect((await reconcile(world, INVOICES, ...COLUMNS)).code).toBe(0);
  expect((await reconcile(world, INVOICES.replace('C-2', 'C-9'), ...COLUMNS)).code).toBe(0);
  const parts = INVOICES.replace('C-2,75.50,EUR,R-2', 'C-2,75.00,EUR,R-2\nC-9,0.50,EUR,R-4');
  expect((await reconcile(world, parts, ...RECORD)).code).toBe(0);
  expect(world.query("SELECT invoice_number FROM finance_charges WHERE tenant_id = 'zoe'")).toEqual([
    { invoice_number: 'R-2, R-4' },
  ]);
});
