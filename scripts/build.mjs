// Builds dist from scratch, so that nothing of a file that is gone is tested or shipped.
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
rmSync(join(root, 'dist'), { recursive: true, force: true });
const tsc = join(root, 'node_modules', '.bin', 'tsc');
const { status, error } = spawnSync(tsc, ['-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
if (error !== undefined) throw error;
if (status === 0) chmodSync(join(root, 'dist', 'cli.js'), 0o755);
process.exitCode = status ?? 1;
