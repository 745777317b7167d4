import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import readExcel from 'read-excel-file/node';
import { describe, expect, it } from 'vitest';
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
    const csv = await world.run('export', 'usage', ...filters, '--delimiter', 'semicolon', '--bom');
    expect(csv.out).toMatch(/^\ufeffworkspace_id;tenant_id;period;.*\r\nws-1;globex;2026-01;/);
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
    expect(sheets[0]?.data).toHaveLength(7);
    expect(readFileSync(join(world.folder, 't.parquet')).subarray(0, 4).toString()).toBe('PAR1');
  });

  it('says in words which views there are, and what cannot be done', async () => {
    const world = await syncedWorld();
    for (const [argv, words] of [
      [['export', 'nothing'], /use one of finance_adjustments, .*finance_usage/],
      [['export', 'freshness', '--period', '2026-01'], /finance_freshness has no column period/],
      [['export', 'usage', '--format', 'xlsx'], /--format xlsx needs --out/],
      [['export', 'usage', '--out', 'missing/usage.csv'], /missing\/usage.csv cannot be written \(ENOENT\)/],
      [['export', 'focus'], /focus needs --period/],
      [['usage', '--out', 'usage.txt'], /a table goes to stdout only/],
      [['tenant', 'acme', '--live', '--format', 'csv'], /--live is not for --format csv/],
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
    expect(table.out).toMatch(/^Workspace +Period +Tenant +Name +Credits/);
    expect(table.out).toMatch(/acme +=Acme & Sons +5,000/);
    expect((await world.run('tenant', 'acme')).out).toMatch(/^acme \(=Acme & Sons\) in ws-1\n/);
    const usage = await world.run('usage', '--tenant', 'acme', '--period', '2026-02', '--format', 'csv');
    expect(usage.out.split('\r\n')[1]).toMatch(/,'=Acme & Sons$/);
    const history = await world.run('tenant', 'acme', '--format', 'csv', '--raw');
    const lines = history.out.trimEnd().split('\r\n');
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^ws-1,acme,=Acme & Sons,\d+,run_/);
  });
});
