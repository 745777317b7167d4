// Makes sure that the named tools are on PATH: `node scripts/ensure-tools.mjs redis-server sqlite3`. Tests and the demo
// run on real ones, so this never passes without them.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

/** The package that carries each tool, by family of system. */
const PACKAGES = {
  'redis-server': { debian: 'redis-server', fedora: 'redis', alpine: 'redis', brew: 'redis' },
  promtool: { debian: 'prometheus', fedora: 'golang-github-prometheus', alpine: 'prometheus', brew: 'prometheus' },
  chromium: { debian: 'chromium', fedora: 'chromium', alpine: 'chromium', brew: 'chromium' },
  pgbouncer: { debian: 'pgbouncer', fedora: 'pgbouncer', alpine: 'pgbouncer', brew: 'pgbouncer' },
  postgresql: { debian: 'postgresql', fedora: 'postgresql-server', alpine: 'postgresql', brew: 'postgresql@17' },
  buildah: { debian: 'buildah', fedora: 'buildah', alpine: 'buildah', brew: 'buildah' },
  mmdebstrap: { debian: 'mmdebstrap', fedora: 'mmdebstrap', alpine: 'mmdebstrap', brew: 'mmdebstrap' },
  strace: { debian: 'strace', fedora: 'strace', alpine: 'strace', brew: 'strace' },
  sqlite3: { debian: 'sqlite3', fedora: 'sqlite', alpine: 'sqlite', brew: 'sqlite' },
};

const wanted = process.argv.slice(2);
const unknown = wanted.filter((tool) => PACKAGES[tool] === undefined);
if (wanted.length === 0 || unknown.length > 0) {
  fail(`name some of ${Object.keys(PACKAGES).join(', ')}${unknown.length > 0 ? `, not ${unknown.join(', ')}` : ''}`);
}

const missing = wanted.filter((tool) => !isThere(tool));
if (missing.length > 0) {
  const mayInstall = process.getuid?.() === 0 && runs('apt-get', ['--version']);
  if (!mayInstall) fail(byHand(missing));
  const packages = missing.map((tool) => PACKAGES[tool].debian);
  process.stderr.write(`${missing.join(' and ')} not on PATH: installing with apt-get\n`);
  step('apt-get', ['update']);
  step('apt-get', ['install', '-y', '--no-install-recommends', ...packages]);
  const broken = missing.filter((tool) => !isThere(tool));
  if (broken.length > 0) fail(`apt-get installed ${broken.join(' and ')}, but it does not run.\n\n${byHand(broken)}`);
}

function isThere(tool) {
  if (tool !== 'postgresql') return runs(tool, ['--version']);
  return runs('initdb', ['--version']) || debianInitdbs().some((initdb) => runs(initdb, ['--version']));
}

/** Debian keeps the programs of each version of Postgres out of PATH. */
function debianInitdbs() {
  const folder = '/usr/lib/postgresql';
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  return versions.map((version) => `${folder}/${version}/bin/initdb`);
}

function runs(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** The output of a step is of interest only when the step failed. */
function step(command, args) {
  const result = spawnSync(command, args, {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status === 0) return;
  const why = result.error === undefined ? `exit code ${result.status}` : result.error.message;
  fail(
    `${result.stdout ?? ''}${result.stderr ?? ''}\n${command} ${args.join(' ')} failed: ${why}\n\n${byHand(missing)}`,
  );
}

function byHand(tools) {
  const names = (family) => tools.map((tool) => PACKAGES[tool][family]).join(' ');
  return `${tools.join(' and ')} is needed and is not on PATH. Install it and run this again:
  Debian, Ubuntu  sudo apt-get install ${names('debian')}
  Fedora, RHEL    sudo dnf install ${names('fedora')}
  Alpine          sudo apk add ${names('alpine')}
  macOS           brew install ${names('brew')}`;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
