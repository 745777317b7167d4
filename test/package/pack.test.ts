import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import stringWidth from 'string-width';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
/** npm and what it starts run on the Node of this test. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };

test('the packed package installs without compiling or complaint, and can init and sync there', {
  timeout: 300_000,
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

  writeFileSync(
    join(folder, 'types.cts'),
    `import { UsageApiClient, type ExactUsageItem } from 'usage-ledger/client';
export async function sum(client: UsageApiClient): Promise<bigint> {
  let all = 0n;
  for await (const { credits_used } of client.usage({ exact: true })) all += credits_used;
  const wrong: number = (null as unknown as ExactUsageItem).credits_used;
  return all;
}
`,
  );
  const compile = join(ROOT, 'node_modules', '.bin', 'tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2023', 'types.cts'];
  const compiled = await run(compile, options, { cwd: folder, env }).catch((error: { stdout: string }) => error);
  // The one mistake that is in it: types are there, and they are not any.
  expect(compiled.stdout.trim().split('\n')).toEqual([
    expect.stringContaining("error TS2322: Type 'bigint' is not assignable to type 'number'"),
  ]);
  const required = await run(process.execPath, ['-p', "typeof require('usage-ledger/client').UsageApiClient"], {
    cwd: folder,
  });
  expect(required.stdout.trim()).toBe('function');

  await firstHour(folder, sandbox.url, env.PATH);

  const client = "import { UsageApiClient } from 'usage-ledger/client'; console.log(typeof UsageApiClient)";
  const imported = await run(process.execPath, ['--input-type=module', '-e', client], { cwd: folder });
  expect(imported.stdout.trim()).toBe('function');
});

/** What an operator does next: the daemon under pm2 by the file that `init` wrote, and a look at every screen. */
async function firstHour(folder: string, serviceUrl: string, path: string): Promise<void> {
  const sample = readFileSync(join(folder, 'usage-ledger.yml'), 'utf8');
  writeFileSync(
    join(folder, 'usage-ledger.yml'),
    sample.replace(/(base_url|embed_url): https:.*/g, `$1: ${serviceUrl}`).replace('port: 9464 ', 'port: 0 '),
  );
  writeFileSync(
    join(folder, '.env'),
    'USAGE_API_WORKSPACE_ID=ws-sandbox\nUSAGE_API_KEY_ID=ak_sandbox\nUSAGE_API_SECRET_KEY=sk_sandbox_not_a_secret\n',
    { mode: 0o600 },
  );
  const pm2 = async (...args: string[]): Promise<string> => {
    const file = join(ROOT, 'node_modules', '.bin', 'pm2');
    const surroundings = { PATH: path, PM2_HOME: join(folder, 'pm2'), NO_COLOR: '1' };
    return (await run(process.execPath, [file, ...args], { cwd: folder, env: surroundings })).stdout;
  };
  onTestFinished(() => pm2('kill').then(() => undefined));
  await pm2('start', 'ecosystem.config.cjs');
  const listed = await pm2('jlist');
  const [app] = JSON.parse(listed.slice(listed.indexOf('[{'))) as [
    { pm2_env: { status: string; pm_cwd: string; pm_exec_path: string } },
  ];
  expect(app.pm2_env).toMatchObject({
    status: 'online',
    pm_cwd: folder,
    pm_exec_path: join(folder, 'node_modules', 'usage-ledger', 'dist', 'cli.js'),
  });
  const out = readFileSync(join(folder, 'pm2', 'logs', 'usage-ledger-out.log'), 'utf8');
  expect(out).toMatch(/"msg":"ready"/);

  const cli = join(folder, 'node_modules', '.bin', 'usage-ledger');
  for (const columns of [80, 200]) {
    for (const args of SCREENS) {
      const screen = await onTerminal(`stty cols ${columns} rows 50; ${cli} ${args}`, folder, path);
      for (const line of screen.split('\n')) {
        // A key that is copied as a whole is not cut.
        if (/^checkpoint key \S+$/.test(line)) continue;
        expect(stringWidth(line), `${args} at ${columns} columns: ${line}`).toBeLessThanOrEqual(columns);
      }
      expect(screen.trim(), args).not.toBe('');
    }
  }
  expect(await onTerminal(`${cli} status`, folder, path)).toMatch(/ok +ws-sandbox +Production .*applied/);
  await pm2('stop', 'usage-ledger');
}

const SCREENS = [
  '--help',
  'status',
  'doctor',
  'usage --limit 5',
  'tenant acme-bakery',
  'tenants list --limit 5',
  'alerts',
  'alerts list --all',
  'verify',
];

/** What a shell line shows on a terminal, without colours. */
async function onTerminal(line: string, cwd: string, path: string): Promise<string> {
  const surroundings = { PATH: path, NO_COLOR: '1', TERM: 'xterm' };
  // The exit code is not asked for: doctor may well find something here.
  const { stdout } = await run('script', ['-q', '-c', line, '/dev/null'], { cwd, env: surroundings });
  return stdout.replaceAll('\r', '');
}
