import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Bounds each search. */
const SECONDS = Number(process.env.SECONDS ?? 120);
/** Processes that search beside each other; absent: one a core. */
const { PLAYERS } = process.env;
export const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Lets the simulation play worlds of up to `days` days with a copy of the program in which one source is changed. The seed and
 * promise that showed it; null: nothing did.
 */
export function search(file: string, changed: string, days = 1): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-mutant-'));
  try {
    for (const part of ['src', 'test/simulation', 'test/support', 'test/billing/rates', 'drizzle', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, file), changed);
    return simulateIn(folder, days);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function simulateIn(folder: string, days: number): string | null {
  const simulation = join(folder, 'test/simulation/simulate.ts');
  const options = ['--minutes', String(SECONDS / 60), '--first', '--days', String(days), '--from', '1'];
  if (PLAYERS !== undefined) options.push('--players', PLAYERS);
  const components = join(folder, 'test/support/bundled-packages.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', components, simulation, ...options], {
    cwd: folder,
    encoding: 'utf8',
  });
  const [, plain] = /Error: a world in which nothing goes wrong: ([^:\n]*)/.exec(stderr) ?? [];
  if (plain !== undefined) return `a world in which nothing goes wrong: ${plain}`;
  if (!/^\d+ worlds, /m.test(stdout)) throw new Error(`the search has failed\n${stdout}${stderr}`);
  const [, seed = '', promise = ''] = /^seed (\d+) at \S+\n([^:\n]*)/m.exec(stdout) ?? [];
  return status === 1 && promise !== '' ? `seed ${seed}: ${promise}` : null;
}
