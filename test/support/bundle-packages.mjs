import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Packages, by the names that `src` imports. */
export const BUNDLED = ['drizzle-orm', 'drizzle-orm/better-sqlite3', 'drizzle-orm/sqlite-core'];

const ROOT = join(import.meta.dirname, '../..');
const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', 'drizzle-orm', 'package.json'), 'utf8'));
const FOLDER = join(ROOT, 'node_modules', '.cache', `drizzle-orm-${version}`);

/** Returns the bundled file of one of these packages. */
export function bundleFile(name) {
  return join(FOLDER, `${name.replaceAll('/', '-')}.js`);
}

/** Bundles the packages into files that share their common code, unless they exist. */
export async function bundlePackages() {
  if (BUNDLED.every((name) => existsSync(bundleFile(name)))) return;
  const { build } = await import('rolldown');
  await build({
    input: Object.fromEntries(BUNDLED.map((name) => [name.replaceAll('/', '-'), name])),
    cwd: ROOT,
    platform: 'node',
    external: (id) => /^[^./]/.test(id) && !id.startsWith('drizzle-orm'),
    output: { dir: FOLDER, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' },
    logLevel: 'warn',
  });
}
