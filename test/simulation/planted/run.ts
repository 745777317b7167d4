import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PLANTED, type Planted } from './planted.ts';

/** Plants each defect in a copy of the program and lets the simulation look for it; `SECONDS` bounds each search. */
const SECONDS = Number(process.env.SECONDS ?? 120);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const wanted = process.argv.slice(2);

let missed = 0;
for (const planted of PLANTED) {
  if (wanted.length > 0 && !wanted.includes(planted.name)) continue;
  const { seconds, worlds, by } = search(planted);
  if (by === null) missed += 1;
  const took = `${String(seconds).padStart(4)} s  ${String(worlds).padStart(4)} worlds  load ${loadavg()[0]?.toFixed(1)}`;
  process.stdout.write(`${by === null ? 'MISSED' : 'found '} ${planted.name.padEnd(30)} ${took}  ${by ?? ''}\n`);
}
process.exitCode = missed === 0 ? 0 : 1;

/** How long the search took, how many worlds ended before it did, and the seed and promise that showed the defect. */
function search({ name, edits }: Planted): { seconds: number; worlds: number; by: string | null } {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-planted-'));
  try {
    for (const part of [
      'src',
      'test/simulation',
      'test/support',
      'test/billing/rates',
      'drizzle',
      'package.json',
      'tsconfig.json',
    ])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const { file, from, to } of edits) {
      const text = readFileSync(join(folder, file), 'utf8');
      if (text.split(from).length !== 2) throw new Error(`${name}: ${file} does not hold once what is to be replaced`);
      const changed = text.replace(from, () => to);
      writeFileSync(join(folder, file), changed);
    }
    const begun = performance.now();
    const simulation = join(folder, 'test/simulation/simulate.ts');
    const options = ['--minutes', String(SECONDS / 60), '--first', '--days', '2', '--from', '1'];
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
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
