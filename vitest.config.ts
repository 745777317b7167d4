import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitest/config';

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

export default defineConfig({
  plugins: [runTheBuild],
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/long/**'],
    pool: 'forks',
    maxWorkers: 2,
    // Far beyond what anything takes: on a machine with other work a test is slow, not wrong.
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
  },
});
