// Builds dist from scratch, so that nothing of a file that is gone is tested or shipped.
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
rmSync(join(root, 'dist'), { recursive: true, force: true });
const tsc = join(root, 'node_modules', '.bin', 'tsc');
const { status, error } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
if (error !== undefined) throw error;
process.exitCode = status ?? 1;
if (status === 0) {
  chmodSync(join(root, 'dist', 'cli.js'), 0o755);
  await bundleDrizzle(join(root, 'dist', 'ledger', 'store', 'schema', 'drizzle.js'));
}

/** Puts what the program takes of drizzle into the one file that asks for it; every command loads it. */
async function bundleDrizzle(file) {
  await build({
    input: file,
    platform: 'node',
    external: 'better-sqlite3',
    output: { file, format: 'esm', sourcemap: true },
    logLevel: 'warn',
  });
}
