import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LostFiles } from './test/support/lost-files.ts';

const root = dirname(fileURLToPath(import.meta.url));
const src = join(root, 'src') + sep;

/**
 * Tests import `src` for its types and run its modules as they lie in `build`, from which `dist` is made; worker threads
 * and child processes load the very same files. Commands are run from `dist`, as they are shipped.
 */
const runTheBuild: Plugin = {
  name: 'run-the-build',
  enforce: 'pre',
  resolveId(id, importer) {
    if (importer === undefined || !id.startsWith('.')) return null;
    const target = resolve(dirname(importer), id);
    if (!target.startsWith(src)) return null;
    const built = join(root, 'build', relative(src, target).replace(/\.ts$/, '.js'));
    if (!existsSync(built)) throw new Error(`${built} is missing: run \`npm run build\` first`);
    return built;
  },
};

/** Files in memory, where there is room for them: a test's folder is gone before a disk could lose it. */
const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

function temporaryRoot(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < ROOM ? tmpdir() : MEMORY;
}

/** The longest files, the longest first: begun in this order, none of them is still at work when all others are done. */
const LONGEST = [
  'simulation/even-worlds',
  'simulation/odd-worlds',
  'package/pack',
  'alerts/evaluate/alert-year',
  'alerts/evaluate/new-spend',
  'alerts/backtest/recorded-history',
  'ledger/model/ledger-model',
  'docs/rule-examples',
  'daemon/pm2/failed-start',
  'simulation/simulation',
  'reports/tenant-page',
  'daemon/one-daemon',
  'reports/page-in-browser',
  'daemon/pm2/pm2',
  'daemon/backup/bucket-schedules',
  'alerts/rules/candidates',
  's3/upload',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
      return at < 0 ? LONGEST.length : at;
    };
    return sorted.sort((a, b) => place(a) - place(b));
  }
}

const COMPILED = join(root, 'node_modules', '.cache', 'compiled');
// Each worker, too, finds what V8 has compiled before: in processes of their own, files spend most of their time on loading.
process.env.NODE_COMPILE_CACHE ??= COMPILED;

export default defineConfig({
  plugins: [runTheBuild],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**'],
    reporters: ['default', new LostFiles()],
    pool: 'forks',
    // Twice the two cores that there usually are: many tests wait for a daemon, a server, the next minute or a retry.
    maxWorkers: 4,
    // Commands that are started find what V8 has compiled of them before.
    env: { TMPDIR: temporaryRoot(), NODE_COMPILE_CACHE: COMPILED },
    // What has been loaded stays, which saves a quarter: a test puts back what it changes of the process. Where nobody waits,
    // each file has a process of its own, and one that dies takes no other with it.
    isolate: Boolean(process.env.CI),
    sequence: { sequencer: LongestFirst },
    server: { deps: { external: [/\/build\//] } },
    // Far beyond what anything takes: on a machine with other work a test is slow, not wrong.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
