import { existsSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { copiesOf, createWorld, parseJson, row } from '../world.ts';

/** Ids that a file system would take for one, for nothing, for a device, for another folder, or not at all. */
const IDS = [
  'acme',
  'ACME',
  'con',
  'nul.txt',
  '../../etc/passwd',
  '..',
  'a/b\\c:d*e?f"g<h>i|j',
  'ends with a dot.',
  ' spaces ',
  '北京',
  '東京',
  'x'.repeat(250),
  `${'x'.repeat(249)}y`,
  '=cmd()',
  'free',
];
const WORKSPACES = ['ws/1', 'WS/1', 'ws-open'].map((id) => ({
  id,
  api_key_id: `ak_${id}`,
  secret_key: `sk_not_a_secret_${id}`,
  usage: IDS.map((tenant, at) => row(tenant, '2026-01', 1000 + at)),
}));
const CARDS = [
  { name: 'standard', from_period: '2026-01', currency: 'EUR', price_per_credit: '0.01' },
  { name: 'free', from_period: '2026-02', tenant: 'free', currency: 'EUR', price_per_credit: '0' },
];

interface IndexRow {
  workspace_id: string;
  tenant_id: string;
  external_ref: string;
  file: string;
  amount: string;
  currency: string;
  digest: string;
}

const createClosed = copiesOf(async () => {
  const world = await createWorld(...WORKSPACES);
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: CARDS }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,external_ref\nacme,C-1\n');
  await world.run('tenants', 'import', 'names.csv', '--workspace', 'ws/1');
  for (const id of ['ws/1', 'WS/1']) await world.run('close', '2026-01', '--workspace', id, '--force');
  return world;
});

function indexOf(folder: string): IndexRow[] {
  return parse(readFileSync(join(folder, 'index.csv')), { columns: true }) as IndexRow[];
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
}

it('writes a statement for each tenant of each workspace, to the byte what --for-tenant gives, and an index', async () => {
  const world = await createClosed();
  const argv = ['statement', '2026-01', '--each', '--out', 'out', '--format', 'html,json,csv', '--raw'];
  const { code, out, err } = await world.run(...argv);
  expect(err).toBe('estimates, because the month is not closed: ws-open\n');
  expect(code).toBe(0);
  const folder = join(world.folder, 'out');
  expect(out).toBe(`45 statements in 135 files, listed in ${join(folder, 'index.csv')}\n`);
  const index = indexOf(folder);
  expect(index).toHaveLength(45);
  expect(index.map(({ tenant_id }) => tenant_id).sort()).toEqual([...IDS, ...IDS, ...IDS].sort());
  const closes = world.query('SELECT workspace_id, digest FROM finance_closes') as Record<string, string>[];
  for (const { workspace_id, tenant_id, file, amount, currency, digest, external_ref } of index) {
    const credits = 1000 + IDS.indexOf(tenant_id);
    expect({ amount, currency }).toEqual({ amount: (credits / 100).toFixed(2), currency: 'EUR' });
    expect(digest).toBe(closes.find((close) => close.workspace_id === workspace_id)?.digest ?? '');
    expect(external_ref).toBe(workspace_id === 'ws/1' && tenant_id === 'acme' ? 'C-1' : '');
    if (IDS.indexOf(tenant_id) % 4 !== 0) continue;
    for (const format of ['html', 'json', 'csv']) {
      const own = [
        'statement',
        '2026-01',
        `--for-tenant=${tenant_id}`,
        '--workspace',
        workspace_id,
        '--format',
        format,
      ];
      const text = readFileSync(join(folder, file.replace(/html$/, format)), 'utf8');
      expect(text).toBe((await world.run(...own, '--raw')).out);
    }
  }
  const [first] = index;
  writeFileSync(join(world.folder, 'one.json'), readFileSync(join(folder, `${first?.file.slice(0, -4)}json`)));
  expect(await world.run('statement', 'verify', 'one.json', '--digest', first?.digest ?? '')).toMatchObject({
    code: 0,
  });
});

it('names files as any system takes them, none of which differ by case alone', async () => {
  const world = await createClosed();
  await world.run('statement', '2026-01', '--each', '--out', 'out', '--format', 'html,json');
  const files = filesBelow(join(world.folder, 'out')).filter((name) => name !== 'index.csv');
  expect(files).toHaveLength(90);
  expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(90);
  for (const name of files) expect(name).toMatch(/^[a-z0-9-]{1,90}\/[a-z0-9][a-z0-9-]{0,60}\.(html|json)$/);
  expect(existsSync(join(world.folder, 'etc'))).toBe(false);
});

it('goes on where it was broken off: what is there stays, what is cut short or of another close is made anew', async () => {
  const world = await createClosed();
  const argv = ['statement', '2026-01', '--each', '--out', 'out', '--format', 'json', '--workspace', 'ws/1'];
  await world.run(...argv);
  const folder = join(world.folder, 'out');
  const [kept, lost, cut] = indexOf(folder).map(({ file }) => join(folder, file)) as [string, string, string];
  const texts = [kept, lost, cut].map((file) => readFileSync(file, 'utf8'));
  utimesSync(kept, 1, 1);
  rmSync(lost);
  writeFileSync(cut, '');
  writeFileSync(join(folder, '.index.csv.part-12345678'), 'half');
  writeFileSync(join(kept, '..', '.some.json.part'), 'half');
  const again = parseJson((await world.run(...argv, '--json')).out);
  expect(again).toMatchObject({ statements: 15, files: 15, kept: 13, estimates: [], without: [] });
  expect(statSync(kept).mtimeMs).toBe(1000);
  expect([kept, lost, cut].map((file) => readFileSync(file, 'utf8'))).toEqual(texts);
  expect(filesBelow(folder).filter((name) => name.includes('.part'))).toEqual([]);

  await world.run('reopen', '2026-01', '--workspace', 'ws/1', '--note', 'wrong');
  await world.run('close', '2026-01', '--workspace', 'ws/1', '--force');
  expect(parseJson((await world.run(...argv, '--json')).out).kept).toBe(0);
  expect(indexOf(folder).every(({ digest }) => !texts[0]?.includes(digest))).toBe(true);
});

it('makes estimates anew, since they may be others', async () => {
  const world = await createClosed();
  const argv = ['statement', '2026-01', '--each', '--out', 'out', '--format', 'json', '--json'];
  expect(parseJson((await world.run(...argv)).out)).toMatchObject({ kept: 0, estimates: ['ws-open'] });
  expect(parseJson((await world.run(...argv)).out)).toMatchObject({ files: 45, kept: 30 });
});

it('shows how far it is on a terminal', async () => {
  const world = await createClosed();
  const seen: string[] = [];
  const argv = ['statement', '2026-01', '--each', '--out', 'out', '--format', 'json'];
  await world.runWatched(80, (out) => seen.push(out), ...argv);
  expect(seen.at(-1)).toMatch(/2026-01 {2}[█░]{30} \d+\/\d+ statements/);
});

it('refuses what it cannot write', async () => {
  const world = await createClosed();
  const each = ['statement', '2026-01', '--each'];
  const wrong: [string[], string][] = [
    [[...each, '--format', 'html'], '--each needs --out'],
    [[...each, '--out', 'out'], '--each supports html, json and csv'],
    [[...each, '--out', 'out', '--format', 'html,xlsx'], '--each supports html, json and csv'],
    [[...each, '--out', 'out', '--format', 'html,html'], '--each supports html, json and csv'],
    [[...each, '--out', 'out', '--format', 'html,pdf'], 'Allowed choices are'],
    [[...each, '--out', 'rates.yml', '--format', 'html'], 'rates.yml is not a folder'],
    [[...each, '--out', 'out', '--format', 'html', '--for-tenant', 'acme'], '--each cannot be combined with a tenant'],
    [['statement', '2026-01', '--format', 'html,json'], 'several formats need --each'],
  ];
  for (const [argv, message] of wrong) {
    expect(await world.run(...argv)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  }
  const nothing = await world.run('statement', '2020-01', '--each', '--out', 'out', '--format', 'html');
  expect(nothing).toMatchObject({ code: 1, err: expect.stringContaining('the ledger has no data for 2020-01') });
});
