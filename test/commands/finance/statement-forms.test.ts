import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import readExcel from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { copiesOf, createWorld, FIRST, NOON, row } from '../world.ts';

const HOSTILE = '<script>alert(1)</script>"\'&\u202e';
const CARD = {
  ...{ name: 'standard', from_period: '2025-12', currency: 'EUR', discount_percent: '10' },
  graduated: [{ up_to: 500, price_per_credit: '0.02' }, { price_per_credit: '0.0125' }],
};
const USAGE = [row('acme', '2026-01', 1000), row(HOSTILE, '2026-01', 2000), row('acme', '2026-02', 4000)];

const createClosed = copiesOf(async () => {
  const world = await createWorld({ ...FIRST, usage: USAGE });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: [CARD] }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name,external_ref\nacme,=Acme <b>,K-1\n');
  await world.run('tenants', 'import', 'names.csv');
  world.clock.nowMs = NOON + 13 * 3_600_000;
  await world.run('sync');
  expect((await world.run('close', '2026-01', '--by', 'Ada')).code).toBe(0);
  return world;
});

async function sheetOf(file: string): Promise<unknown[][]> {
  const sheets = (await readExcel(file)) as unknown as { data: unknown[][] }[];
  return sheets[0]?.data ?? [];
}

describe('statement', () => {
  it('is a workbook in which amounts are numbers, the discount with its sign, and names are text', async () => {
    const world = await createClosed();
    const argv = ['statement', '2026-01', '--tenant', 'acme', '--format', 'xlsx', '--out', 'acme.xlsx'];
    expect(await world.run(...argv)).toEqual({ code: 0, out: '', err: '' });
    const [header, ...rows] = await sheetOf(join(world.folder, 'acme.xlsx'));
    const column = (name: string) => rows.map((cells) => cells[header?.indexOf(name) ?? -1]);
    // Below the lines an empty row and the total.
    expect(column('kind')).toEqual(['usage', 'usage', 'discount', null, null]);
    expect(column('amount')).toEqual([10, 6.25, -1.62, null, 14.63]);
    expect(column('currency')).toEqual(['EUR', 'EUR', 'EUR', null, 'EUR']);
    expect(column('display_name')).toEqual(['=Acme <b>', '=Acme <b>', '=Acme <b>', null, null]);
    const csv = await world.run('statement', '2026-01', '--tenant', 'acme', '--format', 'csv');
    expect(csv.out).toContain(",'=Acme <b>,K-1,discount,,,,,-1.62,EUR,");
    for (const format of ['xlsx', 'parquet']) {
      const files = ['first', 'second'].map((name) => join(world.folder, `${name}.${format}`));
      for (const file of files) await world.run('statement', '2026-01', '--format', format, '--out', file);
      const [first, second] = files.map((file) => readFileSync(file));
      expect(second?.equals(first ?? Buffer.alloc(0)), format).toBe(true);
    }
  });

  it('for a tenant has nothing of others in any form, and is checked like any other', async () => {
    const world = await createClosed();
    const make = (...argv: string[]) => world.run('statement', '2026-01', '--for-tenant', 'acme', ...argv);
    for (const form of ['json', 'html', 'csv']) {
      const { code, out } = await make('--format', form);
      expect(code, form).toBe(0);
      expect(out, form).toMatch(/acme/);
      expect(out, form).not.toMatch(/script&gt;alert|<script>alert|Ada|run_\d/);
    }
    const json = (await make('--format', 'json')).out;
    expect(JSON.parse(json)).toMatchObject({ certificate: null, tenants_in_period: null, proof: { internal: null } });
    writeFileSync(join(world.folder, 'acme.json'), json);
    const verdict = await world.run('statement', 'verify', 'acme.json', '--ledger');
    expect(verdict.out).toMatch(/^ws-1, 2026-01: authentic \(one tenant's statement, closed at/);
    expect(verdict.code).toBe(0);
    for (const argv of [['--format', 'xlsx', '--out', 'x.xlsx'], [], ['--format', 'json', '--tenant', 'acme']]) {
      expect((await make(...argv)).code, argv.join(' ')).toBe(2);
    }
    const open = await world.run('statement', '2026-02', '--for-tenant', 'acme', '--format', 'json');
    expect(JSON.parse(open.out)).toMatchObject({ state: 'open', estimate: true, proof: null });
  });

  it('is a page to print, the same to the byte each time, in which nothing of a tenant is code', async () => {
    const world = await createClosed();
    const write = async (name: string) => {
      expect((await world.run('statement', '2026-01', '--format', 'html', '--out', name)).code).toBe(0);
      return readFileSync(join(world.folder, name), 'utf8');
    };
    const page = await write('first.html');
    await world.run('sync');
    expect(await write('second.html')).toBe(page);
    expect(page.match(/<section>/g)).toHaveLength(2);
    expect(page).toContain('<h1>=Acme &lt;b></h1>');
    expect(page).toContain("&lt;script>alert(1)&lt;/script>&quot;'&amp;\\u202e");
    expect(page).not.toMatch(/<script|javascript:|https?:|\son\w+=/i);
    expect(page).toMatch(/<th scope="row" colspan="3">Total<\/th><td class="number">14\.63 EUR<\/td>/);
    const open = await world.run('statement', '2026-02', '--format', 'html');
    expect(open.out).toContain('estimate (month not over)');
    expect(open.out).toMatch(/Forecast for the month: [\d,]+ credits and [\d,.]+ EUR\./);
  });
});

describe('reconcile', () => {
  it('takes its columns from a preset, which what is typed overrules, and writes a workbook of all tenants', async () => {
    const world = await createClosed();
    writeFileSync(
      join(world.folder, 'invoices.csv'),
      'Customer,net,ItemAmount,Currency,InvoiceNo\nacme,14.63,17.41,EUR,7\n',
    );
    const argv = ['reconcile', 'invoices.csv', '--period', '2026-01', '--preset', 'quickbooks', '--no-service'];
    const out = ['--format', 'xlsx', '--out', 'report.xlsx'];
    expect((await world.run(...argv, ...out, '--amount-column', 'net')).code).toBe(4);
    const [header, ...found] = await sheetOf(join(world.folder, 'report.xlsx'));
    const rows = found.slice(0, 2);
    expect(header?.slice(0, 3)).toEqual(['tenant_id', 'display_name', 'status']);
    expect(rows.map((cells) => cells[2]).sort()).toEqual(['matched', 'missing']);
    const matched = rows.find((cells) => cells[0] === 'acme');
    const amounts = ['ledger_amount', 'invoice_amount', 'currency'].map(
      (name) => matched?.[header?.indexOf(name) ?? -1],
    );
    expect(amounts).toEqual([14.63, 14.63, 'EUR']);
    expect((await world.run(...argv)).out).toMatch(/acme +=Acme <b> +different/);
  });
});
