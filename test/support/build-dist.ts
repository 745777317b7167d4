import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { bundlePackages } from './bundle-packages.mjs';

const ROOT = join(import.meta.dirname, '../..');
/** A file that a build writes at its end. */
const BUILT = join(ROOT, 'dist', 'LICENSES.txt');
const SOURCES = ['src', 'scripts/stand-ins', 'scripts/build.mjs', 'package-lock.json'];

/** Bundles `dist` for tests that start the shipped command, unless it is newer than every source, and packages for all tests. */
export default async function buildDist(): Promise<void> {
  await bundlePackages();
  const builtAt = existsSync(BUILT) ? statSync(BUILT).mtimeMs : 0;
  if (SOURCES.every((source) => changedAt(join(ROOT, source)) < builtAt)) return;
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs')], { stdio: 'inherit' });
}

function changedAt(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  const inside = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return Math.max(stat.mtimeMs, ...inside.map((name) => statSync(join(path, name)).mtimeMs));
}
