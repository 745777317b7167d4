import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Planted } from './planted.ts';

/** Bounds each search. */
const SECONDS = Number(process.env.SECONDS ?? 120);
/** Processes that search beside each other; absent: one a core. */
const { PLAYERS } = process.env;
export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** How long it took, how many worlds ended before it did, and the seed and promise that showed the defect; null: nothing did. */
export interface Found {
  seconds: number;
  worlds: number;
  by: string | null;
}

/** Plants a defect in a copy of the program and lets the simulation look for it. */
export function search({ name, edits, days = 1 }: Planted): Found {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-planted-'));
  try {
    for (const part of ['src', 'test/simulation', 'test/support', 'test/billing/rates', 'drizzle', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const { file, from, to } of edits) {
      const text = readFileSync(join(folder, file), 'utf8');
      if (text.split(from).length !== 2) throw new Error(`${name}: ${file} does not hold once what is to be replaced`);
      const changed = text.replace(from, () => to);
      writeFileSync(join(folder, file), changed);
    }
    return simulateIn(folder, { name, days });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function simulateIn(folder: string, { name, days }: { name: string; days: number }): Found {
  const begun = performance.now();
  const simulation = join(folder, 'test/simulation/simulate.ts');
  const options = ['--minutes', String(SECONDS / 60), '--first', '--days', String(days), '--from', '1'];
  if (PLAYERS !== undefined) options.push('--players', PLAYERS);
  const { status, stdout, stderr } = spawnSync(process.execPath, [simulation, ...options], {
    cwd: folder,
    encoding: 'utf8',
  });
  const seconds = Math.round((performance.now() - begun) / 1000);
  const [, plain] = /Error: a world in which nothing goes wrong: ([^:\n]*)/.exec(stderr) ?? [];
  if (plain !== undefined) return { seconds, worlds: 0, by: `a world in which nothing goes wrong: ${plain}` };
  const [, seed = '', promise = ''] = /^seed (\d+) at \S+\n([^:\n]*)/m.exec(stdout) ?? [];
  const worlds = /^(\d+) worlds, /m.exec(stdout)?.[1];
  if (worlds === undefined) throw new Error(`${name}: the search has failed\n${stdout}${stderr}`);
  const found = status === 1 && promise !== '';
  return { seconds, worlds: Number(worlds), by: found ? `seed ${seed}: ${promise}` : null };
}
