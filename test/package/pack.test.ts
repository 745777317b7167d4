import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

test('the packed package, installed into an empty folder, can init and sync there', { timeout: 240_000 }, async () => {
  const folder = temporaryFolder();
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: ROOT });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  writeFileSync(join(folder, 'package.json'), '{"name":"somewhere-else","private":true}');
  // SQLite's binary is compiled once, by `npm ci`; compiling it again here would test nothing of ours.
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', `./${tarball}`];
  await run('npm', install, { cwd: folder });
  const built = join('node_modules', 'better-sqlite3', 'build');
  cpSync(join(ROOT, built), join(folder, built), { recursive: true });

  const cli = join(folder, 'node_modules', '.bin', 'usage-ledger');
  const call = (...args: string[]) => run(cli, args, { cwd: folder, env: { PATH: process.env.PATH } });
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
