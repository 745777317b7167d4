import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import stringWidth from 'string-width';
import { expect, onTestFinished, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { commandsBelow, liveFirstDay } from './first-day.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
/** npm and what it starts run on the Node of this test. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}` };

test('the packed package installs without compiling or complaint, and the first day goes as the documents say', {
  timeout: 300_000,
}, async () => {
  const parent = temporaryFolder();
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', parent], { cwd: ROOT });
  const tarball = readdirSync(parent).find((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made no tarball');
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  const folder = join(parent, 'usage-ledger');
  const ownPm2 = { ...env, PM2_HOME: join(parent, 'pm2'), NO_COLOR: '1' };
  onTestFinished(() => run('npx', ['pm2', 'kill'], { cwd: folder, env: ownPm2 }).then(() => undefined));
  const quiet = { npm_config_audit: 'false', npm_config_fund: 'false', npm_config_prefer_offline: 'true' };
  const said = await liveFirstDay({
    ...{ parent, tarball: join(parent, tarball), serviceUrl: sandbox.url, env: { ...ownPm2, ...quiet } },
  });

  const words = said.get('npm install usage-ledger pm2') ?? '';
  expect(words).toContain('added');
  expect(words).not.toContain('EBADENGINE');
  // BullMQ's serializer has an optional native part, prebuilt too; whoever installs decides on its check script.
  const scripts = [...words.matchAll(/install-scripts +(\S+)@\S+ \(/g)].map((match) => match[1]);
  expect(scripts.filter((name) => name !== 'msgpackr-extract')).toEqual([]);
  const compiledHere = readdirSync(folder, { recursive: true }).filter((file) =>
    /(^|\/)build\/Release$/.test(String(file)),
  );
  expect(compiledHere).toEqual([]);
  expect(said.get('npx usage-ledger doctor')).toMatch(/^ok {4}service ws-sandbox/m);
  expect(said.get('npx usage-ledger doctor --probe')).toMatch(/^ok {4}probe history/m);
  expect([...said.values()].join('')).not.toMatch(/^(warn|fail|error)/m);
  expect(said.get('npx usage-ledger sync')).toContain('recorded 300 entries: 300 opened (300 records on 3 pages)');
  expect(said.get('npx usage-ledger alerts test log')).toContain('delivered');
  // Whoever follows the README does nothing that the first day does not do.
  expect([...said.keys()]).toEqual(expect.arrayContaining(commandsBelow('README.md', 'Use it')));

  const cli = join(folder, 'node_modules', '.bin', 'usage-ledger');
  expect((await run(cli, ['--version'], { cwd: folder, env })).stdout).toBe(`${version}\n`);
  const withNodeAlone = { PATH: '/nowhere', TMPDIR: parent };
  const demo = await run(process.execPath, [cli, 'demo'], { cwd: parent, env: withNodeAlone });
  expect(demo.stdout).toContain('The webhook received this message:');
  await isUpUnderPm2(folder, ownPm2);
  await showsEveryScreen(folder, cli);
  expect((await run('bash', ['-c', readmeQuery()], { cwd: folder, env })).stdout).toMatch(/^acme-bakery\|\d+$/m);

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

  const client = "import { UsageApiClient } from 'usage-ledger/client'; console.log(typeof UsageApiClient)";
  const imported = await run(process.execPath, ['--input-type=module', '-e', client], { cwd: folder });
  expect(imported.stdout.trim()).toBe('function');
});

/** The query of the README, for the latest month that the sandbox has. */
function readmeQuery(): string {
  const text = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [query = ''] = /^sqlite3 .*$/m.exec(text) ?? [];
  expect(query).toContain("'2026-02'");
  return query.replace("'2026-02'", '(SELECT max(period) FROM finance_usage)');
}

async function isUpUnderPm2(folder: string, surroundings: NodeJS.ProcessEnv): Promise<void> {
  const { stdout: listed } = await run('npx', ['pm2', 'jlist'], { cwd: folder, env: surroundings });
  const [app] = JSON.parse(listed.slice(listed.indexOf('[{'))) as [
    { pm2_env: { status: string; pm_cwd: string; pm_exec_path: string } },
  ];
  expect(app.pm2_env).toMatchObject({
    status: 'online',
    pm_cwd: folder,
    pm_exec_path: join(folder, 'node_modules', 'usage-ledger', 'dist', 'cli.js'),
  });
  const out = readFileSync(join(String(surroundings.PM2_HOME), 'logs', 'usage-ledger-out.log'), 'utf8');
  expect(out).toMatch(/"msg":"ready"/);
}

async function showsEveryScreen(folder: string, cli: string): Promise<void> {
  for (const columns of [80, 200]) {
    for (const args of SCREENS) {
      const screen = await onTerminal(`stty cols ${columns} rows 50; ${cli} ${args}`, folder);
      for (const line of screen.split('\n')) {
        // A key that is copied as a whole is not cut.
        if (/^checkpoint key \S+$/.test(line)) continue;
        expect(stringWidth(line), `${args} at ${columns} columns: ${line}`).toBeLessThanOrEqual(columns);
      }
      expect(screen.trim(), args).not.toBe('');
    }
  }
  expect(await onTerminal(`${cli} status`, folder)).toMatch(/ok +ws-sandbox +Production .*applied/);
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
async function onTerminal(line: string, cwd: string): Promise<string> {
  const surroundings = { PATH: env.PATH, NO_COLOR: '1', TERM: 'xterm' };
  // The exit code is not asked for: doctor may well find something here.
  const { stdout } = await run('script', ['-q', '-c', line, '/dev/null'], { cwd, env: surroundings });
  return stdout.replaceAll('\r', '');
}
