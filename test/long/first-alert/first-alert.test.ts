import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

test('from the tarball to the first alert on the screen it takes less than a minute', async () => {
  const parent = temporaryFolder();
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', parent], { cwd: ROOT });
  const [tarball = ''] = readdirSync(parent).filter((name) => name.endsWith('.tgz'));
  const home = temporaryFolder();
  const node = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  // Nothing was fetched here before.
  const env = { ...process.env, PATH: node, TMPDIR: parent, npm_config_cache: join(parent, 'cache') };

  const began = performance.now();
  await run('npm', ['init', '-y'], { cwd: home, env });
  await run('npm', ['install', join(parent, tarball)], { cwd: home, env });
  const installed = performance.now();
  const demo = spawn('npx', ['usage-ledger', 'demo'], { cwd: home, env });
  const closed = once(demo, 'close');
  await firstAlert(demo);
  const ended = performance.now();
  await closed;

  const seconds = { install: (installed - began) / 1000, alert: (ended - began) / 1000 };
  process.stderr.write(`${JSON.stringify(seconds)}\n`);
  expect(seconds.alert).toBeLessThan(60);
}, 300_000);

function firstAlert(demo: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    let shown = '';
    demo.stdout?.on('data', (part: Buffer) => {
      shown += part;
      if (/blue-harbor used [\d,]+ credits in \w+; \w+ was/.test(shown)) resolve();
    });
    demo.on('close', () => reject(new Error(`the demo ended without an alert: ${shown}`)));
  });
}
