import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
  const { found, seconds, by } = search(planted);
  if (!found) missed += 1;
  process.stdout.write(
    `${found ? 'found ' : 'MISSED'} ${planted.name.padEnd(30)} ${String(seconds).padStart(4)} s  ${by}\n`,
  );
}
process.exitCode = missed === 0 ? 0 : 1;

function search({ name, file, from, to }: Planted): { found: boolean; seconds: number; by: string } {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-planted-'));
  try {
    for (const part of ['src', 'test', 'drizzle', 'package.json', 'tsconfig.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const text = readFileSync(join(folder, file), 'utf8');
    if (text.split(from).length !== 2) throw new Error(`${name}: ${file} does not hold once what is to be replaced`);
    writeFileSync(
      join(folder, file),
      text.replace(from, () => to),
    );
    const begun = performance.now();
    const simulation = join(folder, 'test/simulation/simulate.ts');
    const options = ['--minutes', String(SECONDS / 60), '--first', '--days', '2', '--from', '1'];
    const { status, stdout } = spawnSync(process.execPath, [simulation, ...options], { cwd: folder, encoding: 'utf8' });
    const [, seed = '', promise = ''] = /seed (\d+) at \S+\n([^:\n]*)/.exec(stdout) ?? [];
    const found = status === 1 && promise !== '';
    return {
      found,
      seconds: Math.round((performance.now() - begun) / 1000),
      by: found ? `seed ${seed}: ${promise}` : '',
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
