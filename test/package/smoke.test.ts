import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { daemonFolder, startService } from '../support/daemon-folder.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

test('the packed package has all that its command needs besides its dependencies', async () => {
  const folder = temporaryFolder();
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT, env });
  const [tarball = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  await run('tar', ['-xzf', tarball], { cwd: folder });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const cli = join(folder, 'package', 'dist', 'cli.js');
  const command = (...argv: string[]) =>
    run(process.execPath, [cli, ...argv], { cwd: folder, env: { PATH: env.PATH } });

  expect((await command('--version')).stdout).toBe(`${version}\n`);
  await command('init');
  expect(readdirSync(folder)).toEqual(
    expect.arrayContaining(['.env.example', 'ecosystem.config.cjs', 'usage-ledger.yml']),
  );
  daemonFolder(await startService({ generate: { tenants: 3, months: 2 } }), {}, folder);
  expect((await command('sync')).stdout).toContain('6 opened');
});
