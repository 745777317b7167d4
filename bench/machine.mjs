import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, release, totalmem } from 'node:os';
import Database from 'better-sqlite3';

/** What a number means nothing without. */
export function describeMachine() {
  const connection = new Database(':memory:');
  const sqlite = connection.prepare('SELECT sqlite_version()').pluck().get();
  connection.close();
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${platform()} ${release()} ${arch()}`,
    load: loadavg().map((value) => Number(value.toFixed(2))),
    node: process.version,
    sqlite,
    undici: readDependency('undici'),
    'better-sqlite3': readDependency('better-sqlite3'),
    'usage-ledger': version,
  };
}

/** The first line that a command says of its version; null when it is not installed. */
export function versionOf(command) {
  const { status, stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' });
  return status === 0 ? (stdout.split('\n')[0] ?? '').trim() : null;
}

function readDependency(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')).version;
}
