// Runs the suite's quick part on the other Nodes that are supported, and sees the program refuse one that is too old:
// `node scripts/test-nodes.mjs`. Their binaries come from npm and are kept in node_modules/.cache.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The development dependency `node` is the third that is supported; `npm test` runs on it. */
const SUPPORTED = ['22.23.3', '26.10.0'];
const TOO_OLD = '20.20.2';
/** What a Node can differ in: the native module, threads, streams, sockets, signals, child processes, JSON and Unicode. */
const QUICK = [
  'test/core',
  'test/config',
  'test/reports/formats',
  'test/usage-api',
  'test/billing/statement',
  'test/writer',
  'test/ledger/journal/runs',
  'test/ledger/journal/staging',
  'test/queue/private-redis.test.ts',
  'test/sync/faults.test.ts',
  'test/commands/start.test.ts',
  'test/commands/processes.test.ts',
  'test/commands/sync.test.ts',
  'test/daemon/daemon.test.ts',
];

const root = fileURLToPath(new URL('..', import.meta.url));

refuse(TOO_OLD);
for (const version of SUPPORTED) test(version);
process.stdout.write(`passed on Node ${SUPPORTED.join(' and ')}; ${TOO_OLD} is refused\n`);

function test(version) {
  const node = install(version);
  process.stdout.write(`Node ${version}\n`);
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const { status } = spawnSync(node, [vitest, 'run', '--project', 'fast', ...QUICK], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  if (status !== 0) fail(`the quick part fails on Node ${version}`);
}

function refuse(version) {
  const args = [join(root, 'dist', 'cli.js'), 'doctor'];
  const { status, stdout, stderr } = spawnSync(install(version), args, { cwd: root, encoding: 'utf8' });
  const inOneLine = /^error: usage-ledger needs Node .*\n$/.test(stderr);
  if (status !== 2 || stdout !== '' || !inOneLine) fail(`Node ${version} is not refused: ${status} ${stdout}${stderr}`);
}

/** The path of this Node's binary, installed unless it is there. */
function install(version) {
  const folder = join(root, 'node_modules', '.cache', 'nodes', version);
  const name = `node-${process.platform}-${process.arch}`;
  const node = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(node)) return node;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
  const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`];
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0 || !existsSync(node)) fail(`${name}@${version} cannot be installed`);
  return node;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
