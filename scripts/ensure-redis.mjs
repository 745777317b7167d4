// Makes sure that a `redis-server` is on PATH, because tests and the demo run on a real one. Never passes without it.
import { spawnSync } from 'node:child_process';

const BY_HAND = `redis-server is needed and is not on PATH. Install it and run this again:
  Debian, Ubuntu  sudo apt-get install redis-server
  Fedora, RHEL    sudo dnf install redis    (or valkey with its redis-server alias)
  Alpine          sudo apk add redis
  macOS           brew install redis`;

function runs(command, args) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
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
  fail(`${result.stdout ?? ''}${result.stderr ?? ''}\n${command} ${args.join(' ')} failed: ${why}\n\n${BY_HAND}`);
}

if (!runs('redis-server', ['--version'])) {
  const mayInstall = process.getuid?.() === 0 && runs('apt-get', ['--version']);
  if (!mayInstall) fail(BY_HAND);
  process.stderr.write('redis-server is not on PATH: installing it with apt-get\n');
  step('apt-get', ['update']);
  step('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server']);
  if (!runs('redis-server', ['--version'])) fail(`apt-get installed redis-server, but it does not run.\n\n${BY_HAND}`);
}
