// Everything that a release has to pass, what fails fastest first. It tags and publishes nothing: what is left for the owner of the
// package is said at the end. `--without-suites` leaves out what takes minutes.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'release');
const LONGEST_ENTRY = 60;
const NEEDED = [
  ...['dist/cli.js', 'dist/client.js', 'dist/LICENSES.txt', 'dist/types/usage-api/public.d.ts', 'ecosystem.config.cjs'],
  ...[
    'drizzle/meta/_journal.json',
    'drizzle/views.sql',
    'schemas/alert-notification.json',
    'schemas/config.json',
    'schemas/month-end.json',
  ],
  ...['docs/operate.md', 'README.md', 'LICENSE', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['deploy/prometheus-rules.yml', 'compose.yaml', 'package.json'],
];
const UNWANTED = /^(src|test|bench|build|release)\/|\.env|\.map$|\.db$|(^|\/)\.[^/]+$/;

const { values: options } = parseArgs({
  options: {
    'without-suites': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
const { version, repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

const read = (...command) => execFileSync(command[0], command.slice(1), { cwd: ROOT, encoding: 'utf8' });

/** Runs a command of the project where everybody can see it. */
function passes(...args) {
  const { status } = spawnSync('npm', args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error(`npm ${args.join(' ')} ended with ${status}`);
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** The entries of the changelog: each version with its lines, the newest first. */
function changelog() {
  const [, ...entries] = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8').split(/^## /m);
  return entries.map((entry) => {
    const [heading, ...lines] = entry.trimEnd().split('\n');
    return { version: heading.split(' ')[0], heading, lines };
  });
}

const STEPS = [
  [
    'the working tree is clean',
    () => {
      const changed = read('git', 'status', '--porcelain').trim();
      if (changed !== '') throw new Error(`commit or remove these first:\n${changed}`);
    },
  ],
  [
    'the version is a new one',
    () => {
      if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${version} in package.json is no version such as 0.1.0`);
      const tags = read('git', 'tag', '--list', `v${version}`).trim();
      if (tags !== '') throw new Error(`${tags} is there already: raise the version in package.json`);
    },
  ],
  [
    'the changelog begins with it, dated, and in at most 60 lines',
    () => {
      const [entry] = changelog();
      if (entry?.version !== version)
        throw new Error(`CHANGELOG.md begins with ${entry?.version}, not with ${version}`);
      const isDated = /\(\d{4}-\d{2}-\d{2}\)$/.test(entry.heading);
      if (!isDated) throw new Error(`write the day of the release behind ${version} in CHANGELOG.md, as (2026-01-31)`);
      if (entry.lines.length > LONGEST_ENTRY) throw new Error(`its entry has ${entry.lines.length} lines: shorten it`);
    },
  ],
  ['types, lint, rooms and dead code', () => passes('run', '--silent', 'check')],
  ['it is built', () => passes('run', '--silent', 'build')],
  [
    'the generated pages and schemas are those of the program',
    () => {
      passes('run', '--silent', 'docs');
      const changed = read('git', 'diff', '--name-only').trim();
      if (changed !== '')
        throw new Error(`commit what \`npm run docs\` has changed: ${changed.replaceAll('\n', ', ')}`);
    },
  ],
  [
    'the package holds what it should, and nothing else',
    () => {
      const [{ files }] = JSON.parse(read('npm', 'pack', '--dry-run', '--json', '--ignore-scripts'));
      const paths = files.map(({ path }) => path);
      const missing = NEEDED.filter((path) => !paths.includes(path));
      const unwanted = paths.filter((path) => UNWANTED.test(path));
      if (missing.length > 0) throw new Error(`it lacks ${missing.join(', ')}`);
      if (unwanted.length > 0) throw new Error(`it holds ${unwanted.join(', ')}`);
    },
  ],
  [
    'package, notes, parts (CycloneDX) and checksums lie in release/',
    () => {
      rmSync(OUT, { recursive: true, force: true });
      mkdirSync(OUT);
      read('npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', OUT);
      writeFileSync(
        join(OUT, 'sbom.json'),
        read('npm', 'sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev', '--no-workspaces'),
      );
      writeFileSync(join(OUT, 'notes.md'), `${changelog()[0].lines.join('\n').trim()}\n`);
      const sums = readdirSync(OUT).map((name) => `${sha256(join(OUT, name))}  ${name}\n`);
      writeFileSync(join(OUT, 'SHA256SUMS'), sums.join(''));
    },
  ],
  ...(options['without-suites']
    ? []
    : [
        ['the tests', () => passes('test')],
        ['the tests on the other Nodes', () => passes('run', 'test:nodes')],
      ]),
];

if (options.help) {
  process.stdout.write(
    'Usage: npm run release -- [--without-suites]\n\nChecks everything that a release has to pass. Publishes nothing.\n',
  );
} else {
  release();
}

function release() {
  for (const [name, step] of STEPS) {
    try {
      step();
      process.stdout.write(`ok    ${name}\n`);
    } catch (error) {
      process.stdout.write(`FAIL  ${name}\n      ${error.message}\n`);
      process.exitCode = 1;
      return;
    }
  }
  const registry =
    repository === undefined
      ? '  write repository, homepage and bugs into package.json, for the page of the registry\n'
      : '';
  process.stdout.write(`
usage-ledger ${version} is ready. What is left for its owner:
${registry}  git tag -s v${version} -m 'usage-ledger ${version}' && git push --tags
  npm publish --provenance
  attach what lies in release/ to the release, with notes.md as its words
`);
}
