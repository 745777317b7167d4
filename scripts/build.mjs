// Builds from scratch, so that nothing of a file that is gone is tested or shipped: `build` has a file for each module of
// `src`, which tests load; `dist` is what is shipped.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

/** What is started or imported by its name; what they share lies in files of its own beside them. */
const ENTRIES = {
  cli: 'cli.js',
  client: 'usage-api/public.js',
  'backup-process': 'daemon/backup/backup-process.js',
  'export-process': 'daemon/exports/export-process.js',
  'report-thread': 'daemon/http/reports/report-thread.js',
  'scan-thread': 'ledger/audit/verify/scan-thread.js',
};
/** Packages of many modules that most commands load; each of the others is loaded as it is installed. */
const BUNDLED =
  /^(?:@pinojs\/redact|ansi-regex|atomic-sleep|commander|croner|drizzle-orm|emoji-regex|is-fullwidth-code-point|on-exit-leak-free|pino|pino-std-serializers|quick-format-unescaped|safe-stable-stringify|sonic-boom|string-width|strip-ansi|thread-stream|undici|yaml|zod)(?:\/|$)/;
/** Who asks for which module, and the file of `scripts/stand-ins` that it gets. */
const STAND_INS = [
  [/^/, 'undici', 'undici.mjs'],
  [/\/undici\//, './client-h2.js', 'undici-http2.cjs'],
  [/\/commander\//, 'node:child_process', 'commander-child-process.mjs'],
  [/\/commander\//, 'node:process', 'commander-process.mjs'],
];
/** What so many commands and processes share is one file: Node looks up, reads and links each file on its own. */
const SHARED_BY = 16;
const isExternal = (id, importer) =>
  id === './writer-loop.js' || (/^[^./]/.test(id) && !BUNDLED.test(id) && standInFor(id, importer) === undefined);

const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'build');
const dist = join(root, 'dist');
for (const folder of [modules, dist]) rmSync(folder, { recursive: true, force: true });
if (compile('tsconfig.build.json') && compile('tsconfig.client-types.json')) {
  const drizzle = join(modules, 'ledger', 'store', 'schema', 'drizzle.js');
  await bundle(drizzle, { file: drizzle });
  await writePageScript(join(modules, 'reports', 'statement'));
  for (const [module, name] of [
    ['main.js', 'verify-statement.mjs'],
    ['bundle.js', 'verify-bundle.mjs'],
  ]) {
    await bundle(join(modules, 'verifier', module), {
      file: join(dist, name),
      banner: '#!/usr/bin/env node',
      comments: true,
      sourcemap: false,
    });
  }
  // Its one file is read faster than what it would share with the commands.
  for (const name of ['writer-thread.js', 'writer-loop.js']) {
    await bundle(join(modules, 'writer', name), { file: join(dist, name) });
  }
  const input = Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(modules, file)]));
  const { output } = await bundle(input, {
    dir: dist,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: { groups: [{ name: 'shared', test: /[\\/]build[\\/]/, minShareCount: SHARED_BY }] },
  });
  writeFileSync(join(dist, 'LICENSES.txt'), licensesOf(output.flatMap(({ moduleIds = [] }) => moduleIds)));
  for (const folder of [modules, dist]) chmodSync(join(folder, 'cli.js'), 0o755);
}

function compile(project) {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const { status, error } = spawnSync(tsc, ['-p', project], { cwd: root, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exitCode = status ?? 1;
  return status === 0;
}

/** What stands in the place of a module that a package asks for, since it takes longer to load than it is worth. */
function standInFor(source, importer = '') {
  const [, , file] = STAND_INS.find(([by, asked]) => asked === source && by.test(importer)) ?? [];
  return file && join(root, 'scripts', 'stand-ins', file);
}

function bundle(input, output) {
  return build({
    input,
    platform: 'node',
    external: isExternal,
    plugins: [{ name: 'stand-ins', resolveId: standInFor }],
    output: { format: 'esm', sourcemap: true, comments: false, ...output },
    // What is shared is in one file, whoever imports it late.
    checks: { ineffectiveDynamicImport: false },
    logLevel: 'warn',
  });
}

/** A page is one file: what it runs becomes a text that stands in it, and must not end its own element. */
async function writePageScript(folder) {
  const { output } = await build({
    input: join(folder, 'prove-page.js'),
    platform: 'browser',
    output: { format: 'iife' },
    write: false,
    logLevel: 'warn',
  });
  const text = output[0].code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
  const sha256 = createHash('sha256').update(text).digest('base64');
  writeFileSync(
    join(folder, 'page-script.js'),
    `export const PAGE_SCRIPT = ${JSON.stringify({ text, sha256 }, null, 2)};\n`,
  );
}

/** The licenses of the packages that these modules are from, which travel with what is shipped of them. */
function licensesOf(files) {
  const folders = files.map((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]);
  const texts = [...new Set(folders)].filter(Boolean).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = join(folder, 'LICENSE');
    return `${name} ${version}: ${license}\n${existsSync(text) ? `\n${readFileSync(text, 'utf8')}` : ''}`;
  });
  return texts.sort().join('\n');
}
