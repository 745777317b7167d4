import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { loadConfig } from '../../../src/config/load.ts';
import { writeMonthBundle } from '../../../src/operations/months/month-bundle.ts';
import { zipEntries } from '../../reports/files/zip-entries.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { copiesOf, createWorld, FIRST, parseJson, row, type World, workspaceSettings } from '../world.ts';

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');

/** December of one workspace, closed, numbered and reconciled, with the bundle unpacked and its digest in files. */
const createDecember = copiesOf(async () => {
  const usage = ['acme', 'globex'].map((tenant) => row(tenant, '2025-12', 1000));
  const world = await createWorld({ ...FIRST, usage });
  world.configure({ statement: { number: 'R-{seq}' }, workspaces: [workspaceSettings(world.sandbox, FIRST)] });
  await world.run('migrate');
  const cards = [{ name: 'euro', from_period: '2025-12', currency: 'EUR', price_per_credit: '0.01' }];
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: cards }));
  await world.run('rates', 'apply', 'rates.yml', '--yes');
  await world.run('sync');
  await world.run('close', '2025-12', '--force');
  writeFileSync(join(world.folder, 'invoices.csv'), 'tenant_id,net\nacme,10.00\nglobex,10.00\n');
  const argv = ['--period', '2025-12', '--amount-column', 'net', '--no-service', '--record'];
  expect((await world.run('reconcile', 'invoices.csv', ...argv)).code).toBe(0);
  const { code, out } = await world.run('month-end', '2025-12', '--bundle', 'december.zip');
  expect(code).toBe(0);
  const folder = join(world.folder, 'unpacked');
  for (const [name, data] of Object.entries(zipEntries(readFileSync(join(world.folder, 'december.zip'))))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), data);
  }
  writeFileSync(join(world.folder, 'digest'), /bundle digest (\w{64})\n/.exec(out)?.[1] ?? '');
  return world;
});

async function createBundle(): Promise<{ world: World; folder: string; digest: string }> {
  const world = await createDecember();
  const digest = readFileSync(join(world.folder, 'digest'), 'utf8');
  return { world, folder: join(world.folder, 'unpacked'), digest };
}

test('a bundle is the same file when it is streamed to a slow receiver', async () => {
  const { world, folder } = await createBundle();
  const config = await loadConfig({ file: undefined, env: {}, cwd: world.folder });
  const plan = JSON.parse(readFileSync(join(folder, 'month-end.json'), 'utf8'));
  const chunks: Uint8Array[] = [];
  const context = { config, clock: clockThat(() => world.clock.nowMs) };
  const { statements, digest } = await writeMonthBundle(context, plan, async (bytes) => {
    await new Promise((resolve) => setImmediate(resolve));
    chunks.push(bytes);
  });
  expect(digest).toBe(readFileSync(join(world.folder, 'digest'), 'utf8'));
  expect(statements).toMatchObject([{ workspace_id: 'ws-1', file: 'statements/1.json' }]);
  expect(Buffer.concat(chunks).equals(readFileSync(join(world.folder, 'december.zip')))).toBe(true);
});

function check(folder: string, ...argv: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'verify-bundle.mjs'), ...argv], {
    encoding: 'utf8',
  });
  return { code: status, out: stdout, err: stderr };
}

test('a bundle holds the closed month, and checks itself by the digest that was said', async () => {
  const { world, folder, digest } = await createBundle();
  expect(check(folder, '--digest', digest)).toEqual({ code: 0, out: `authentic\nbundle digest ${digest}\n`, err: '' });
  expect(check(folder)).toMatchObject({ code: 0, out: expect.stringMatching(/^consistent: compare the digest/) });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  expect(parseJson(read('month-end.json'))).toMatchObject({
    sound: true,
    workspaces: [{ workspace_id: 'ws-1', state: 'closed', reconciled: 'yes' }],
  });
  const [close] = world.query('SELECT digest FROM finance_closes') as { digest: string }[];
  expect(read('closes.csv')).toContain(close?.digest);
  expect(read('charges.csv')).toMatch(/,R-1\r\n.*,R-2\r\n/);
  expect(read('reconciliations.csv')).toContain(sha256(readFileSync(join(world.folder, 'invoices.csv'))));
  const argv = [
    join(folder, 'verify-statement.mjs'),
    join(folder, 'statements/1.json'),
    '--digest',
    `${close?.digest}`,
  ];
  expect(execFileSync(process.execPath, argv, { encoding: 'utf8' })).toBe('authentic\n');
});

test.each([
  ['reconciliations.csv', /,2,0,0,0,/, ',1,0,0,1,'],
  ['charges.csv', 'R-2', 'R-3'],
  ['month-end.json', '"sound": true', '"sound": false'],
  ['statements/1.json', '"R-2"', '"R-3"'],
  ['closes.csv', 'close', 'reopen'],
])(
  'a change of %s is found, by the given digest also where the manifest was written anew',
  async (name, was, becomes) => {
    const { folder, digest } = await createBundle();
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    expect(text).toMatch(was);
    const forged = text.replace(was, becomes);
    writeFileSync(file, forged);
    expect(check(folder)).toMatchObject({ code: 4, err: expect.stringContaining(`${name} was changed`) });
    const manifest = join(folder, 'manifest.json');
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(sha256(text), sha256(forged)));
    expect(check(folder, '--digest', digest)).toMatchObject({
      code: 4,
      err: expect.stringContaining('does not match the given digest'),
    });
    // Who was told no digest finds a statement that was changed, and nothing else.
    expect(check(folder).code).toBe(name.startsWith('statements/') ? 4 : 0);
  },
);

test('a file that is missing, and one that came to it, are named', async () => {
  const { folder } = await createBundle();
  rmSync(join(folder, 'charges.csv'));
  writeFileSync(join(folder, 'more.csv'), 'x');
  const { code, err } = check(folder);
  expect([code, err]).toEqual([
    4,
    expect.stringMatching(/more\.csv is not part of the bundle[\s\S]*charges\.csv is missing/),
  ]);
});

test.each(['no JSON', '{}', '{"files": {}, "statements": 7}'])('a manifest that says %s is none', async (text) => {
  const { folder } = await createBundle();
  writeFileSync(join(folder, 'manifest.json'), text);
  expect(check(folder)).toMatchObject({
    code: 4,
    err: 'NOT authentic: manifest.json is not a bundle manifest\n',
  });
});
