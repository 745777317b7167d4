// Changes one place of the source at a time and looks whether its tests notice: `npm run test:mutation`. Which mutants there
// are follows from the source and the seed alone; see docs/testing.md.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EQUIVALENTS, type Equivalent } from './equivalents.ts';
import { built, drawn, type Mutant, mutantsOf } from './mutants.ts';
import { TARGETS, type Target } from './targets.ts';

const SEED = Number(process.env.MUTATION_SEED ?? 1);
/** Mutants of a target. */
const DRAWN = Number(process.env.MUTANTS ?? 60);
/** Which targets, by their names; all when absent. */
const ONLY = process.env.MUTATION_ONLY;
const LANES = 2;
/** Beyond what the tests take as they are. */
const PATIENCE = 4;
const LEAST_KILLED = 0.85;
const MOST_EQUIVALENT = 0.05;

interface Played extends Mutant {
  target: Target;
  file: string;
  equivalent: Equivalent | undefined;
  fate: 'killed' | 'timed out' | 'survived' | null;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const folders = Array.from({ length: LANES }, () => mkdtempSync(join(tmpdir(), 'usage-ledger-mutation-')));
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});
process.on('SIGINT', () => process.exit(130));
for (const folder of folders) {
  for (const part of ['build', 'src', 'test', 'docs', 'drizzle', 'schemas', 'vitest.config.ts', 'package.json']) {
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  // Commands run the mutant, too.
  symlinkSync('build', join(folder, 'dist'));
}

/** As it was at the start: somebody may go on to work meanwhile. */
const sourceOf = (file: string): string => readFileSync(join(folders[0] ?? root, 'src', file), 'utf8');
const targets = TARGETS.filter(({ name }) => ONLY === undefined || ONLY.split(',').includes(name));
const mutants = targets.flatMap((target): Played[] => {
  const all = target.files.flatMap((file) => mutantsOf(sourceOf(file)).map((mutant) => ({ ...mutant, file })));
  return drawn(all, DRAWN, SEED).map((mutant) => ({ ...mutant, target, equivalent: equivalentOf(mutant), fate: null }));
});
const limits = new Map<Target, number>();
for (const target of targets) {
  const startedAt = performance.now();
  const passed = await Promise.all(folders.map((folder) => play(folder, target, Number.POSITIVE_INFINITY)));
  if (passed.some((end) => end !== 'survived')) throw new Error(`the tests of ${target.name} fail without any mutant`);
  limits.set(target, (performance.now() - startedAt) * PATIENCE);
}
const waiting = mutants.filter(({ equivalent }) => equivalent === undefined);
await Promise.all(
  folders.map(async (folder) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) await playMutant(folder, mutant);
  }),
);
report();

async function playMutant(folder: string, mutant: Played): Promise<void> {
  const { target, file, start, end, becomes } = mutant;
  const source = sourceOf(file);
  const path = join(folder, 'build', file.replace(/ts$/, 'js'));
  const sound = readFileSync(path);
  writeFileSync(path, built(`${source.slice(0, start)}${becomes}${source.slice(end)}`));
  mutant.fate = await play(folder, target, limits.get(target) ?? 0);
  writeFileSync(path, sound);
  process.stdout.write(`${mutant.fate.padEnd(9)} ${nameOf(mutant)}\n`);
}

/** Runs the tests of a target, the quick ones first, until some fail. */
async function play(folder: string, { tests }: Target, limitMs: number): Promise<NonNullable<Played['fate']>> {
  for (const files of tests) {
    const paths = files.map((file) => join('test', file));
    const args = ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', '--maxWorkers=1', ...paths];
    const child = spawn(process.execPath, args, { cwd: folder, stdio: 'ignore', detached: true });
    const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), Math.min(limitMs, 2 ** 31 - 1));
    const [code, signal] = await once(child, 'exit');
    clearTimeout(timer);
    if (signal !== null) return 'timed out';
    if (code !== 0) return 'killed';
  }
  return 'survived';
}

function equivalentOf({ file, line, was, becomes }: Mutant & { file: string }): Equivalent | undefined {
  const text = sourceOf(file).split('\n')[line - 1]?.trim();
  return EQUIVALENTS.find(
    (known) => known.file === file && known.line === text && known.was === was && known.becomes === becomes,
  );
}

function nameOf({ file, line, was, becomes }: Played): string {
  return `${file}:${line}: ${JSON.stringify(was)} becomes ${JSON.stringify(becomes)}`;
}

function report(): void {
  const lines = ['| Code | Mutants | Killed | Equivalent | Survived |', '|---|---|---|---|---|'];
  let isGood = true;
  for (const target of targets) {
    const own = mutants.filter((mutant) => mutant.target === target);
    const equivalent = own.filter((mutant) => mutant.equivalent !== undefined).length;
    const survived = own.filter(({ fate }) => fate === 'survived').length;
    const killed = own.length - equivalent - survived;
    const share = killed / (own.length - equivalent);
    lines.push(
      `| ${target.name} | ${own.length} | ${killed} (${Math.round(share * 100)}%) | ${equivalent} | ${survived} |`,
    );
    isGood &&= share >= LEAST_KILLED && equivalent / own.length <= MOST_EQUIVALENT;
  }
  process.stdout.write(`\nSeed ${SEED}\n\n${lines.join('\n')}\n`);
  for (const mutant of mutants.filter(({ fate }) => fate === 'survived')) {
    process.stdout.write(`survived ${nameOf(mutant)}\n`);
  }
  process.exitCode = isGood ? 0 : 1;
}
