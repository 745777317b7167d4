import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { NO_RESTART_EXIT_CODES } from '../../src/config/exit-codes.ts';
import { composeFile, type Installation, pm2File, systemdUnit } from '../../src/config/samples.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const USER = { name: 'ada', uid: 1001, gid: 1002 };

function installed(packageFolder: (folder: string) => string): Installation {
  const folder = temporaryFolder();
  return { folder, packageFolder: packageFolder(folder), nodePath: '/usr/bin/node', user: USER };
}

describe("pm2's file", () => {
  it.each([
    ['below the folder', (folder: string) => join(folder, 'node_modules', 'usage-ledger')],
    ['elsewhere', () => join(temporaryFolder(), 'usage-ledger')],
  ])('runs the script of a package %s, in the folder of the file, with the settings of the package', (_, place) => {
    const installation = installed(place);
    const { folder, packageFolder } = installation;
    mkdirSync(packageFolder, { recursive: true });
    writeFileSync(
      join(packageFolder, 'ecosystem.config.cjs'),
      'module.exports = { apps: [{ script: __dirname + "/dist/cli.js", kill_timeout: 25000 }] };',
    );
    const file = join(folder, 'ecosystem.config.cjs');
    writeFileSync(file, pm2File(installation));
    expect(createRequire(file)(file)).toEqual({
      apps: [{ script: join(packageFolder, 'dist', 'cli.js'), kill_timeout: 25000, cwd: folder, watch: false }],
    });
  });
});

describe('the unit for systemd', () => {
  it('names what is run, as whom and where, and gives a stop its time', () => {
    const unit = systemdUnit({
      folder: '/srv/usage ledger/100%',
      packageFolder: '/srv/usage ledger/100%/node_modules/usage-ledger',
      nodePath: '/usr/bin/node',
      user: USER,
    });
    const settings = new Map(
      unit
        .split('\n')
        .filter((line) => /^[A-Z]\w+=/.test(line))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    expect(settings.get('ExecStart')).toBe(
      '/usr/bin/node --max-semi-space-size=4 "/srv/usage ledger/100%%/node_modules/usage-ledger/dist/cli.js" daemon ' +
        '--config "/srv/usage ledger/100%%/usage-ledger.yml"',
    );
    expect(settings.get('WorkingDirectory')).toBe('/srv/usage ledger/100%%');
    expect(settings.get('ReadWritePaths')).toBe('"/srv/usage ledger/100%%"');
    expect(settings.get('User')).toBe('ada');
    expect(Number(settings.get('TimeoutStopSec'))).toBeGreaterThan(19);
    for (const hardened of ['NoNewPrivileges', 'PrivateTmp', 'RestrictNamespaces']) {
      expect(settings.get(hardened)).toBe('yes');
    }
  });
});

test("the file for compose is the package's own, run as the user whom the folder belongs to", () => {
  const own = readFileSync(new URL('../../compose.yaml', import.meta.url), 'utf8');
  const file = composeFile({
    ...installed(() => '/x'),
    packageFolder: fileURLToPath(new URL('../..', import.meta.url)),
  });
  const { 'usage-ledger': daemon } = parse(file).services;
  expect(daemon).toEqual({ ...parse(own).services['usage-ledger'], user: '1001:1002' });
  expect(Number.parseInt(daemon.stop_grace_period, 10)).toBeGreaterThan(19);
});

test('pm2 does not watch the folder, and would ignore what is written there', () => {
  const { apps } = createRequire(import.meta.url)('../../ecosystem.config.cjs') as { apps: object[] };
  const ignored = expect.arrayContaining(['data', 'backups', 'exports', 'logs', 'node_modules']);
  expect(apps).toEqual([expect.objectContaining({ watch: false, ignore_watch: ignored })]);
});

test('pm2 and systemd leave a daemon alone after the exit codes that no restart mends', () => {
  const { apps } = createRequire(import.meta.url)('../../ecosystem.config.cjs') as { apps: object[] };
  expect(apps).toEqual([expect.objectContaining({ stop_exit_codes: [...NO_RESTART_EXIT_CODES] })]);
  const user = { name: 'ledger', uid: 1, gid: 1 };
  const unit = systemdUnit({ folder: '/srv', packageFolder: '/srv/package', nodePath: '/usr/bin/node', user });
  expect(unit).toMatch(new RegExp(`^RestartPreventExitStatus=${NO_RESTART_EXIT_CODES.join(' ')}$`, 'm'));
});
