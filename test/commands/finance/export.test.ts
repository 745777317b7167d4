import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import readExcel from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
import { zipEntries } from '../../reports/files/zip-entries.ts';
import { createWorld, FIRST, parseJson } from '../world.ts';

async function syncedWorld() {
  const world = await createWorld(FIRST);
  await world.run('sync');
  const names = join(world.folder, 'names.csv');
  writeFileSync(names, 'tenant_id,display_name\nacme,=Acme & Sons\n');
  expect((await world.run('tenants', 'import', names)).code).toBe(0);
  return world;
}

describe('export', () => {
  it('writes the rows of a view, filtered, in each form of text', async () => {
    const world = await syncedWorld();
    const expected = world.query("SELECT * FROM finance_usage WHERE tenant_id = 'globex' AND period = '2026-01'");
    const filters = ['--tenant', 'globex', '--period', '2026-01'];
    const ndjson = await world.run('export', 'usage', ...filters, '--format', 'ndjson');
    expect(ndjson.err).toBe('');
    expect(ndjson.out.trimEnd().split('\n')).toHaveLength(1);
    expect(parseJson(ndjson.out)).toMatchObject({ tenant_id: 'globex', credits_used: 9007199254740993n });
    expect(Object.keys(parseJson(ndjson.out) as object)).toEqual(Object.keys(expected[0] as object));
    const { out } = await world.run('export', 'finance_usage', ...filters, '--format', 'json');
    expect(parseJson(out)).toEqual({ name: 'finance_usage', rows: [parseJson(ndjson.out)] });
    const csv = await world.run('export', 'usage', ...filters, '--bom');
    expect(csv.out).toMatch(/^\ufeffworkspace_id,tenant_id,period,.*\r\nws-1,globex,2026-01,/);
  });

  it('writes a workbook and a Parquet file for their owner alone, and nothing else into the folder', async () => {
    const world = await syncedWorld();
    const before = readdirSync(world.folder);
    expect(await world.run('export', 'usage', '--format', 'xlsx', '--out', 'usage.xlsx')).toMatchObject({
      code: 0,
      out: '',
    });
    expect(await world.run('export', 'tenants', '--format', 'parquet', '--out', 't.parquet')).toMatchObject({
      code: 0,
    });
    expect(readdirSync(world.folder).sort()).toEqual([...before, 't.parquet', 'usage.xlsx'].sort());
    for (const name of ['t.parquet', 'usage.xlsx']) {
      expect(statSync(join(world.folder, name)).mode & 0o777).toBe(0o600);
    }
    const sheets = (await readExcel(join(world.folder, 'usage.xlsx'))) as unknown as { data: unknown[][] }[];
    // A header, the rows, an empty row and the total.
    expect(sheets[0]?.data).toHaveLength(1 + 6 + 2);
    expect(readFileSync(join(world.folder, 't.parquet')).subarray(0, 4).toString()).toBe('PAR1');
  });

  it('writes several views into one workbook of one moment, with the same cells as one by one', async () => {
    const world = await syncedWorld();
    const views = ['usage', 'finance_history', 'period_totals', 'adjustments'];
    expect(await world.run('export', ...views, '--format', 'xlsx', '--out', 'all.xlsx')).toEqual({
      ...{ code: 0, out: '', err: '' },
    });
    expect(statSync(join(world.folder, 'all.xlsx')).mode & 0o777).toBe(0o600);
    expect(readdirSync(world.folder).filter((name) => name.includes('.part-'))).toEqual([]);
    const all = (await readExcel(join(world.folder, 'all.xlsx'))) as unknown as { sheet: string; data: unknown[][] }[];
    expect(all.map(({ sheet }) => sheet)).toEqual([
      ...['finance_usage', 'finance_history', 'finance_period_totals', 'finance_adjustments'],
    ]);
    for (const [at, view] of views.entries()) {
      await world.run('export', view, '--format', 'xlsx', '--out', 'one.xlsx');
      const [one] = (await readExcel(join(world.folder, 'one.xlsx'))) as unknown as { data: unknown[][] }[];
      expect(all[at]?.data, view).toEqual(one?.data);
    }
    await world.run('export', ...views, '--format', 'xlsx', '--out', 'again.xlsx');
    const bytes = (name: string) => readFileSync(join(world.folder, name));
    expect(bytes('again.xlsx').equals(bytes('all.xlsx'))).toBe(true);
    expect(Object.keys(zipEntries(bytes('all.xlsx')))).toHaveLength(views.length + 5);
  });

  it('answers --json as --format json, cut by --limit, over the periods that --from and --to name', async () => {
    const world = await syncedWorld();
    const window = ['--from', '2025-12', '--to', '2026-01'];
    const { code, out, err } = await world.run('export', 'usage', ...window, '--json', '--limit', '3');
    expect({ code, err }).toEqual({ code: 0, err: '1 more\n' });
    expect((await world.run('export', 'usage', ...window, '--format', 'json', '--limit', '3')).out).toBe(out);
    const { rows } = parseJson(out);
    expect(rows.map(({ period }: { period: string }) => period)).toEqual(['2025-12', '2025-12', '2026-01']);
    expect(rows[0].withdrawn).toBe(false);
    expect((await world.run('export', 'usage', '--json', '--format', 'csv')).err).toContain('--json conflicts');
    const lines = async (...argv: string[]) =>
      (await world.run(...argv, '--format', 'csv')).out.trimEnd().split('\r\n');
    expect(await lines('export', 'usage', '--to', '2026-01')).toHaveLength(1 + 4);
    expect(await lines('usage', '--from', '2026-01')).toHaveLength(1 + 4);
    expect(await lines('usage', '--from', '2026-01', '--as-of', '2026-03-01')).toHaveLength(1 + 4);
    expect(await lines('tenant', 'acme', ...window)).toHaveLength(1 + 2);
    const both = await world.run('usage', '--period', '2026-01', '--from', '2026-01');
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('--period conflicts with --from and --to')]);
  });

  it('writes CSV as a German spreadsheet reads it, ids and texts as they are', async () => {
    const world = await syncedWorld();
    writeFileSync(
      join(world.folder, 'rates.yml'),
      JSON.stringify({
        rates: [{ name: '1.5 flat', from_period: '2025-01', currency: 'EUR', price_per_credit: '0.0125' }],
      }),
    );
    await world.run('rates', 'apply', 'rates.yml', '--yes');
    const charges = ['export', 'charges', '--tenant', 'acme', '--period', '2026-02'];
    const { out } = await world.run(...charges, '--locale', 'de');
    expect(out.split('\r\n')[1]).toBe(
      "ws-1;acme;2026-02;5000;6250;EUR;1.5 flat;6250;0;62,50;2;62,5;'=Acme & Sons;;;0;",
    );
    expect((await world.run(...charges)).out).toContain(",62.50,2,62.5,'=Acme & Sons,,");
  });

  it('takes the corrections that are booked in a period for those of it, beside other views in a workbook', async () => {
    const world = await syncedWorld();
    await world.run('close', '2026-01', '--force');
    world.sandbox.workspace('ws-1').set({ tenantId: 'acme', period: '2026-01', credits: 1007, requests: 10 });
    await world.run('sync');
    const of = (period: string) => world.run('export', 'adjustments', '--period', period, '--format', 'ndjson');
    expect(parseJson((await of('2026-02')).out)).toMatchObject({ corrects_period: '2026-01', credits_delta: 7 });
    expect((await of('2026-01')).out).toBe('');
    const book = ['export', 'usage', 'charges', 'adjustments', '--period', '2026-02', '--format', 'xlsx'];
    expect(await world.run(...book, '--out', 'february.xlsx')).toMatchObject({ code: 0, err: '' });
  });

  it('says in words which views there are, and what cannot be done', async () => {
    const world = await syncedWorld();
    for (const [argv, words] of [
      [['export', 'nothing'], /use one of finance_adjustments, .*finance_usage/],
      [['export', 'freshness', '--period', '2026-01'], /finance_freshness has no column period/],
      [['export', 'usage', '--format', 'xlsx'], /--format xlsx needs --out/],
      [['export', 'usage', '--out', 'missing/usage.csv'], /missing\/usage.csv cannot be written \(ENOENT\)/],
      [['export', 'focus'], /focus needs --period/],
      [['export', 'usage', 'charges', '--out', 'x.csv'], /2 views need a workbook\n.*--format xlsx --out FILE/],
      [['export', 'usage', 'charges', '--format', 'xlsx'], /2 views need a workbook/],
      [['export', 'usage', 'focus', '--format', 'xlsx', '--out', 'x.xlsx'], /focus cannot share a workbook/],
      [['export', 'usage', 'finance_usage', '--format', 'xlsx', '--out', 'x.xlsx'], /finance_usage is listed twice/],
      [['export', 'usage', 'nothing', '--format', 'xlsx', '--out', 'x.xlsx'], /there is no view "nothing"/],
      [['usage', '--out', 'usage.txt'], /--out does not take a table/],
      [['tenant', 'acme', '--live', '--format', 'csv'], /--live does not work with --format csv/],
    ] as const) {
      const { code, out, err } = await world.run(...argv);
      expect([code, out]).toEqual([2, '']);
      expect(err).toMatch(words);
    }
  });
});

describe('usage and tenant', () => {
  it('show the names of tenants, and write them where a spreadsheet does not run them', async () => {
    const world = await syncedWorld();
    const table = await world.run('usage', '--period', '2026-02');
    expect(table.out).toMatch(/^Workspace +Tenant +Name +Period +Credits/);
    expect(table.out).toMatch(/acme +=Acme & Sons +2026-02 +5,000/);
    expect((await world.run('tenant', 'acme')).out).toMatch(/^acme \(=Acme & Sons\) in ws-1\n/);
    const usage = await world.run('usage', '--tenant', 'acme', '--period', '2026-02', '--format', 'csv');
    expect(usage.out.split('\r\n')[1]).toMatch(/^ws-1,acme,'=Acme & Sons,2026-02,/);
    const history = await world.run('tenant', 'acme', '--format', 'csv', '--raw');
    const lines = history.out.trimEnd().split('\r\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^ws-1,acme,=Acme & Sons,\d+,2026-02-20T.*,run_\w+$/);
  });
});
