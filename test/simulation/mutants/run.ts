// Draws mutants of the source by a seed; those that the tests of their module do not notice, the simulation plays.
//   npm run simulate:mutants -- [FROM [TO]]   which of them, counted from 0 (default: all); MUTANTS, MUTATION_SEED, PLAYERS,
//   SECONDS
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { drawn, type Mutant, mutantsOf } from './mutants.ts';
import { root, search } from './search.ts';

/** What the simulation plays; the rest is files, sockets, pages and other processes. */
const PLAYED = ['alerts/{outbox,pipeline,rules,state}', 'billing/rates', 'core', 'ledger/journal', 'queue'];
const PLACES = [
  'src/alerts/*.ts',
  ...[...PLAYED, 'sync', 'usage-api/answers', 'daemon'].map((place) => `src/${place}/**/*.ts`),
];
const LEFT_OUT = /redis|bullmq|\/(?:http|publish|backup|exports)\/|worker|heartbeat/;

type Placed = Mutant & { file: string };

/** Files beside the folders that a test run needs. */
const ROOT_FILES = [
  'vitest.config.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.client-types.json',
];

const sources = globSync(PLACES, { cwd: root })
  .filter((file) => !LEFT_OUT.test(file))
  .sort();
const all = sources.flatMap((file) => {
  return mutantsOf(readFileSync(join(root, file), 'utf8')).map((mutant): Placed => ({ ...mutant, file }));
});
const [from = '0', to = '1000'] = process.argv.slice(2);
const count = Number(process.env.MUTANTS ?? 60);
const chosen = drawn(all, count, Number(process.env.MUTATION_SEED ?? 1)).slice(Number(from), Number(to));
const tests = globSync('test/**/*.test.ts', { cwd: root }).filter((file) => !/test\/(?:long|simulation)\//.test(file));
const texts = new Map(tests.map((file) => [file, readFileSync(join(root, file), 'utf8')]));

for (const mutant of chosen) {
  const { file, line, was, becomes, start, end } = mutant;
  const source = readFileSync(join(root, file), 'utf8');
  const changed = `${source.slice(0, start)}${becomes}${source.slice(end)}`;
  const name = `${file}:${line}: ${JSON.stringify(was)} becomes ${JSON.stringify(becomes)}`;
  const own = relatedTo(file);
  const isNoticed = own.length > 0 && !passes(own, file, changed);
  const found = isNoticed ? null : search(file, changed);
  const fate = isNoticed ? 'its tests' : found === null ? 'MISSED' : 'simulation';
  process.stdout.write(`${fate.padEnd(10)} ${String(own.length).padStart(2)} files  ${name}  ${found ?? ''}\n`);
}

/** The tests that name a module, or where none does all of its folder; what rules find is tested where runs are judged. */
function relatedTo(file: string): string[] {
  const naming = tests.filter((test) => texts.get(test)?.includes(file.slice('src/'.length)));
  const own = naming.length > 0 ? naming : testsIn(dirname(file).replace(/^src/, 'test'));
  return file.startsWith('src/alerts/rules/') ? [...own, ...testsIn('test/alerts/evaluate')] : own;
}

/** Of a folder, or the nearest one above it that has any. */
function testsIn(folder: string): string[] {
  const inside = tests.filter((test) => test.startsWith(`${folder}/`));
  return inside.length > 0 || !folder.includes('/') ? inside : testsIn(dirname(folder));
}

/** Reports whether these tests pass although one source is changed. */
function passes(files: readonly string[], file: string, source: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'usage-ledger-mutant-'));
  try {
    for (const part of [...ROOT_FILES, 'src', 'test', 'docs', 'drizzle', 'schemas', 'scripts'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, file), source);
    const args = ['node_modules/vitest/vitest.mjs', 'run', '--bail=1', '--maxWorkers=1', ...files];
    return spawnSync(process.execPath, args, { cwd: folder, timeout: 300_000, killSignal: 'SIGKILL' }).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
