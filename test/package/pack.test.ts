import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
/** npm and what it starts run on the Node of this test. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };

test('the packed package installs without compiling or complaint, and can init and sync there', {
  timeout: 240_000,
}, async () => {
  const folder = temporaryFolder();
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  writeFileSync(join(folder, 'package.json'), '{"name":"somewhere-else","private":true}');
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${tarball}`];
  const installed = await run('npm', install, { cwd: folder, env });
  const words = `${installed.stdout}${installed.stderr}`;
  expect(words).not.toContain('EBADENGINE');
  // BullMQ's serializer has an optional native part, prebuilt too; whoever installs decides on its check script.
  const scripts = [...words.matchAll(/install-scripts +(\S+)@\S+ \(/g)].map((match) => match[1]);
  expect(scripts.filter((name) => name !== 'msgpackr-extract')).toEqual([]);
  expect(readdirSync(folder, { recursive: true }).filter((file) => /(^|\/)build\/Release$/.test(String(file)))).toEqual(
    [],
  );

  const cli = join(folder, 'node_modules', '.bin', 'usage-ledger');
  const call = (...args: string[]) => run(cli, args, { cwd: folder, env: { PATH: env.PATH } });
  expect((await call('--version')).stdout).toBe(`${version}\n`);
  expect((await call('--help')).stdout).toContain('usage-ledger sync');
  await call('init');
  expect(existsSync(join(folder, 'usage-ledger.yml'))).toBe(true);

  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  writeFileSync(join(folder, '.env'), `USAGE_API_KEY_ID=ak_sandbox\nUSAGE_API_SECRET_KEY=sk_sandbox_not_a_secret\n`);
  writeFileSync(
    join(folder, 'own.yml'),
    `workspaces:
  - id: ws-sandbox
    name: Sandbox
    base_url: ${sandbox.url}
    embed_url: ${sandbox.url}
    api_key_id: \${USAGE_API_KEY_ID}
    secret_key: \${USAGE_API_SECRET_KEY}
`,
  );
  const { stdout } = await call('sync', '--config', 'own.yml', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ workspaces: [{ status: 'applied', records: 300 }] });

  const client = "import { UsageApiClient } from 'usage-ledger/client'; console.log(typeof UsageApiClient)";
  const imported = await run(process.execPath, ['--input-type=module', '-e', client], { cwd: folder });
  expect(imported.stdout.trim()).toBe('function');
});
