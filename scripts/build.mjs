// Builds `dist`, which is shipped, from `src` with rolldown, and the client's types with tsc. It starts from an empty folder,
// so that a deleted module is never tested or shipped.
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';
import { tokenRule } from '../src/look/tokens.ts';

/** Modules that are started or imported by name. Code that they share goes into chunks beside them. */
const ENTRIES = {
  cli: 'cli.ts',
  client: 'usage-api/public.ts',
  'backup-process': 'daemon/backup/backup-process.ts',
  'doctor-process': 'daemon/doctor/doctor-process.ts',
  'folder-process': 'daemon/folders/folder-process.ts',
  'export-process': 'daemon/exports/export-process.ts',
  'report-thread': 'daemon/http/reports/report-thread.ts',
  'sheet-thread': 'daemon/api/sheet-thread.ts',
  'read-thread': 'daemon/api/read-thread.ts',
  'scan-thread': 'ledger/audit/verify/scan-thread.ts',
};
/** Verifiers that an auditor runs alone: one readable file each, comments included. */
const VERIFIERS = { 'verify-statement.mjs': 'verifier/main.ts', 'verify-bundle.mjs': 'verifier/bundle.ts' };
/** The writer's thread has its own two files: one file loads faster than chunks shared with the commands. */
const THREAD = { 'writer-thread.js': 'writer/writer-thread.ts', 'writer-loop.js': 'writer/writer-loop.ts' };
/**
 * Packages with many modules that most commands load, and MCP, which shares zod with them. Other packages are loaded from
 * node_modules.
 */
const BUNDLED =
  /^(?:@modelcontextprotocol\/(?:core|server)|@pinojs\/redact|ansi-regex|atomic-sleep|commander|croner|drizzle-orm|emoji-regex|ipaddr\.js|is-fullwidth-code-point|on-exit-leak-free|p-map|pino|pino-std-serializers|quick-format-unescaped|safe-stable-stringify|sonic-boom|string-width|strip-ansi|thread-stream|undici|yaml|zod)(?:\/|$)/;
/** Importer, module it asks for, and the file of `scripts/stand-ins` that replaces the module. */
const STAND_INS = [
  [/^/, 'undici', 'undici.mjs'],
  [/\/undici\//, './client-h2.js', 'undici-http2.cjs'],
  [/\/commander\//, 'node:child_process', 'commander-child-process.mjs'],
  [/\/commander\//, 'node:process', 'commander-process.mjs'],
];
/** Style sheets and their parts. Each begins with the tokens. */
const STYLE_SHEETS = {
  'console.css': ['look/base.css', 'reports/page/report.css', 'daemon/console/assets/console.css'],
  'report.css': ['look/base.css', 'reports/page/report.css'],
  'statement.css': ['look/base.css', 'reports/statement/statement.css'],
};
/** A module that at least this many entries and commands use goes into one shared chunk: Node resolves, reads and links each file separately. */
const MIN_USERS_OF_SHARED_CHUNK = 16;
/** Starts the writer's thread, which loads its files while the command loads the shared chunk: this one must not wait for it. */
const THREAD_STARTER = join('writer', 'start-thread.ts');
const USED_BY_THREAD_STARTER = join('core', 'process', 'module-file.ts');

const root = fileURLToPath(new URL('..', import.meta.url));
const src = join(root, 'src');
const dist = join(root, 'dist');
/** Replaces `preact` in the script of a statement's page. */
const PAGE_PREACT = join(root, 'scripts', 'stand-ins', 'preact-elements.mjs');

rmSync(dist, { recursive: true, force: true });
if (compileTypes()) {
  const [ofPages, ofCommands] = await Promise.all([
    writePageScript(),
    writeCommands(),
    ...writeVerifiers(),
    ...writeThread(),
  ]);
  writeFileSync(join(dist, 'LICENSES.txt'), licensesOf([...ofCommands, ...ofPages]));
  chmodSync(join(dist, 'cli.js'), 0o755);
  for (const [name, parts] of Object.entries(STYLE_SHEETS)) writeFileSync(join(dist, name), styleSheet(parts));
  copyFileSync(join(src, 'daemon', 'console', 'assets', 'console.js'), join(dist, 'console.js'));
}

/** Joins the parts of a style sheet without comments and line breaks: documents contain all of it. */
function styleSheet(parts) {
  const text = parts.map((part) => readFileSync(join(src, part), 'utf8')).join('\n');
  const short = text.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\s+/g, ' ');
  return (
    tokenRule() +
    short
      .replaceAll(/ ?([{};,]) ?/g, '$1')
      .replaceAll(/;}/g, '}')
      .replaceAll(': ', ':')
      .trim()
  );
}

function compileTypes() {
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  const { status, error } = spawnSync(tsc, ['-p', 'tsconfig.client-types.json'], { cwd: root, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exitCode = status ?? 1;
  return status === 0;
}

/** Writes the commands, and returns the files of the modules in them. */
async function writeCommands() {
  const input = Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, join(src, file)]));
  const { output } = await bundle(input, {
    dir: dist,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: {
      groups: [{ name: 'shared', test: belongsToSharedChunk, minShareCount: MIN_USERS_OF_SHARED_CHUNK }],
    },
  });
  refuseSharedChunkBeforeThread(output);
  return modulesIn(output);
}

function belongsToSharedChunk(id) {
  return /[\\/]src[\\/]/.test(id) && !id.endsWith(USED_BY_THREAD_STARTER);
}

/** Throws when starting the writer's thread loads the shared chunk first, which costs each writing command the time it takes. */
function refuseSharedChunkBeforeThread(output) {
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const starter = output.find(({ moduleIds = [] }) => moduleIds.some((id) => id.endsWith(THREAD_STARTER)));
  const loaded = new Set([starter.fileName]);
  for (const file of loaded) for (const imported of chunks.get(file)?.imports ?? []) loaded.add(imported);
  const shared = [...loaded].find((file) => chunks.get(file)?.name === 'shared');
  if (shared === undefined) return;
  throw new Error(`${starter.fileName} loads ${shared}: list what ${THREAD_STARTER} imports in USED_BY_THREAD_STARTER`);
}

function writeThread() {
  return Object.entries(THREAD).map(([name, file]) => bundle(join(src, file), { file: join(dist, name) }));
}

function writeVerifiers() {
  return Object.entries(VERIFIERS).map(([name, file]) =>
    bundle(join(src, file), {
      file: join(dist, name),
      banner: '#!/usr/bin/env node',
      comments: true,
      sourcemap: false,
    }),
  );
}

/**
 * Bundles the script of a statement's page, and returns the files of the modules in it. It is inlined, so it must not close
 * its own element.
 */
async function writePageScript() {
  const { output } = await build({
    input: join(src, 'reports', 'statement', 'prove-page.ts'),
    platform: 'browser',
    plugins: [{ name: 'stand-in', resolveId: (source) => (source === 'preact' ? PAGE_PREACT : null) }],
    transform: { define: { STATEMENT_STYLE: JSON.stringify(styleSheet(STYLE_SHEETS['statement.css'])) } },
    output: { format: 'iife', minify: true },
    write: false,
    logLevel: 'warn',
  });
  const text = output[0].code.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--');
  writeFileSync(join(dist, 'prove-page.js'), text);
  return modulesIn(output);
}

function bundle(input, output) {
  return build({
    input,
    platform: 'node',
    external: (id, importer) => isExternal(id, importer),
    plugins: [{ name: 'stand-ins', resolveId: (source, importer) => standInFor(source, importer) }],
    output: { format: 'esm', sourcemap: true, comments: false, ...output },
    // Shared code lies in one file, so a dynamic import of it loads nothing new.
    checks: { ineffectiveDynamicImport: false },
    logLevel: 'warn',
  });
}

function isExternal(id, importer) {
  return /^[^./]/.test(id) && !BUNDLED.test(id) && standInFor(id, importer) === undefined;
}

/** Returns the replacement for an imported module, undefined for none. */
function standInFor(source, importer = '') {
  // A file of its own in `dist`, named as shipped.
  if (source === './writer-loop.ts') return { id: './writer-loop.js', external: true };
  const [, , file] = STAND_INS.find(([by, asked]) => asked === source && by.test(importer)) ?? [];
  return file && join(root, 'scripts', 'stand-ins', file);
}

function modulesIn(output) {
  return output.flatMap(({ moduleIds = [] }) => moduleIds);
}

/** Returns the licenses of the packages that these bundled modules come from. */
function licensesOf(files) {
  const folders = files.map((file) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]);
  const texts = [...new Set(folders)].filter(Boolean).map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const text = join(folder, 'LICENSE');
    return `${name} ${version}: ${license}\n${existsSync(text) ? `\n${readFileSync(text, 'utf8')}` : ''}`;
  });
  return texts.sort().join('\n');
}
