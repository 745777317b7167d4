import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { LostFiles } from './test/support/lost-files.ts';

const root = dirname(fileURLToPath(import.meta.url));

/** Files in memory, where there is room for them: a test's folder is gone before a disk could lose it. */
const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;

function temporaryRoot(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize < ROOM ? tmpdir() : MEMORY;
}

/** The longest files, longest first: started in this order, none of them is still running when all others are done. */
const LONGEST = [
  'simulation/even-worlds.slow',
  'simulation/odd-worlds.slow',
  'simulation/simulation.slow',
  'daemon/pm2/pm2.slow',
  'alerts/evaluate-run/shifted-starts.slow',
  'package/pack.slow',
  'alerts/evaluate-run/alert-year.slow',
  'ledger/model/ledger-model.slow',
  'outlets/kills.slow',
  'daemon/pm2/failed-start.slow',
  'daemon/one-daemon.slow',
  'alerts/backtest/recorded-history.slow',
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
// Workers reuse compiled code: a file in a process of its own spends most of its time on loading.
process.env.NODE_COMPILE_CACHE ??= COMPILED;

/** Preloaded into workers, and into the threads and processes that tests start. */
const PRELOAD = ['--import', join(root, 'test/support/bundled-packages.mjs')];
const SLOW_FILES = 'test/**/*.slow.test.ts';

export default defineConfig({
  test: {
    projects: [
      { extends: true, test: { name: 'fast', include: ['test/**/*.test.ts'], exclude: ['test/long/**', SLOW_FILES] } },
      { extends: true, test: { name: 'slow', include: [SLOW_FILES], exclude: ['test/long/**'] } },
    ],
    globalSetup: ['test/support/build-dist.ts'],
    reporters: ['default', new LostFiles(), ...(process.env.CI ? ['json' as const] : [])],
    // Read by `scripts/check-test-times.mjs`.
    outputFile: { json: join(root, 'node_modules', '.cache', 'test-times.json') },
    pool: 'forks',
    // Twice the usual two cores: many tests wait for a daemon, a server, the next minute or a retry.
    maxWorkers: 4,
    execArgv: PRELOAD,
    // The compile cache serves the commands that tests start, too.
    env: { TMPDIR: temporaryRoot(), NODE_COMPILE_CACHE: COMPILED, NODE_OPTIONS: PRELOAD.join(' ') },
    // Files share processes and the modules loaded there, which saves a quarter of the time: a test restores what it changes in the
    // process. In CI each file has a process of its own, so that a crash takes no other file with it.
    isolate: Boolean(process.env.CI),
    sequence: { sequencer: LongestFirst },
    // Node itself loads `src`, as it does in the threads and processes that tests start.
    server: { deps: { external: [/\/src\//] } },
    // Generous on purpose: on a busy machine a test is slow, not wrong.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
