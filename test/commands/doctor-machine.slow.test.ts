import { execFile as execFileWithCallback, spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statfsSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { diskFinding } from '../../src/operations/doctor/check-ledger.ts';
import { CLI } from '../support/daemon-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Check, examine } from './examine.ts';
import { createWorld, FIRST, row, workspaceSettings } from './world.ts';

// cspell:ignore acces

const execFile = promisify(execFileWithCallback);
type Said = Record<'stdout' | 'stderr', string>;

const KEY_REMEDY = expect.stringContaining('`ledger.checkpoint_key_file`');
const CHMOD = expect.stringContaining('chmod o-w');

const about = (checks: Check[], name: string) => checks.filter(({ check }) => check === name);
const variable = (name: string) => `\${${name}}`;

describe('an empty variable', () => {
  it('is named when a required setting uses it', async () => {
    const world = await createWorld(FIRST);
    const settings = { ...workspaceSettings(world.sandbox, FIRST), secret_key: variable('OUR_SECRET') };
    world.configure({ workspaces: [settings], http: { port: 0 } });
    writeFileSync(join(world.folder, '.env'), 'OUR_SECRET=\n', { mode: 0o600 });
    const { code, checks } = await examine(world);
    expect(code).toBe(2);
    expect(about(checks, 'configuration')).toMatchObject([
      {
        ...{ subject: 'workspaces[0].secret_key', status: 'fail' },
        message: 'needs the variable OUR_SECRET, which is empty',
        remedy: expect.stringContaining('Give OUR_SECRET a value'),
      },
    ]);
    expect((await world.run('sync')).err).toContain('OUR_SECRET, which is empty');
  });

  it('gives a warning when an optional setting uses it, such as a signing secret', async () => {
    const world = await createWorld(FIRST);
    const hook = { type: 'webhook', name: 'hook', url: 'http://127.0.0.1:9/x', allow_private: true };
    world.configure({
      workspaces: [workspaceSettings(world.sandbox, FIRST)],
      http: { port: 0 },
      alerts: { channels: [{ ...hook, secret: variable('HOOK_SECRET') }] },
    });
    const { checks } = await examine(world, { HOOK_SECRET: '' });
    expect(about(checks, 'variables')).toMatchObject([
      {
        ...{ subject: 'alerts.channels[0].secret', status: 'warn' },
        message: 'HOOK_SECRET is empty, so alerts.channels[0].secret is not set',
      },
    ]);
    expect(about((await examine(world, { HOOK_SECRET: 'a_secret_of_hooks' })).checks, 'variables')).toEqual([]);
  });

  it('is named when the environment is the only configuration', async () => {
    const folder = temporaryFolder();
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'status'], {
      ...{ cwd: folder, encoding: 'utf8' },
      env: { USAGE_API_WORKSPACE_ID: 'ws-1', USAGE_API_SECRET_KEY: '' },
    });
    expect(status).toBe(2);
    expect(stderr).toContain('needs the variable USAGE_API_SECRET_KEY, which is empty');
    expect(stderr).toContain('USAGE_API_KEY_ID: is missing');
  });
});

describe('a schedule', () => {
  const busy = {
    ...FIRST,
    usage: Array.from({ length: 500 }, (_, index) => row(`tenant-${index}`, '2026-02', 10)),
  };

  it('that needs more requests than the rate of a host gives a warning with both figures', async () => {
    const world = await createWorld(busy);
    const workspace = { ...workspaceSettings(world.sandbox, busy), per_page: 1, requests_per_second: 200 };
    const host = new URL(world.sandbox.url).host;
    world.configure({ workspaces: [{ ...workspace, cron: '* * * * *' }], http: { port: 0 } });
    expect(about((await examine(world)).checks, 'schedule')).toEqual([]);
    await world.run('sync');
    // 500 pages, counted once as there are more than fifty: 8.3 a second.
    expect(about((await examine(world)).checks, 'schedule')).toEqual([]);
    const slower = { ...workspace, requests_per_second: 8 };
    world.configure({ workspaces: [{ ...slower, cron: '* * * * *' }], http: { port: 0 } });
    expect(about((await examine(world)).checks, 'schedule')).toMatchObject([
      {
        ...{ subject: host, status: 'warn', remedy: expect.stringContaining('slower cron') },
        message: `the crons need 8.3 requests a second from ${host}; 8 are allowed (workspace ws-1)`,
      },
    ]);
    world.configure({ workspaces: [{ ...slower, cron: '*/2 * * * *' }], http: { port: 0 } });
    expect(about((await examine(world)).checks, 'schedule')).toEqual([]);
  });

  it('of many workspaces is added up, also before any of them was read', async () => {
    const world = await createWorld(FIRST);
    const settings = { ...workspaceSettings(world.sandbox, FIRST), cron: '* * * * *', requests_per_second: 1 };
    const many = (count: number) => Array.from({ length: count }, (_, index) => ({ ...settings, id: `ws-${index}` }));
    world.configure({ workspaces: many(31), http: { port: 0 } });
    expect(about((await examine(world)).checks, 'schedule')).toMatchObject([
      {
        message: expect.stringMatching(
          /need 1\.0 requests a second from .*; 1 are allowed \(31 workspaces, .* ws-0, ws-1/,
        ),
      },
    ]);
    world.configure({ workspaces: many(30), http: { port: 0 } });
    expect(about((await examine(world)).checks, 'schedule')).toEqual([]);
  });
});

describe('the machine', () => {
  it('with less free space than twice the ledger gives a warning', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    expect(about((await examine(world)).checks, 'disk')).toMatchObject([{ status: 'ok' }]);
    const { bavail, bsize } = statfsSync(world.folder);
    // A hole takes no room: only the size that is told grows.
    truncateSync(world.ledgerPath, Math.ceil((bavail * bsize * 0.55) / 4096) * 4096);
    expect(about((await examine(world)).checks, 'disk')).toMatchObject([
      {
        ...{ status: 'warn', message: expect.stringContaining('less than twice the ledger') },
        remedy: expect.stringContaining('free twice the size of the ledger'),
      },
    ]);
  });

  it('with a full disk fails, whatever the size of the ledger', () => {
    expect(diskFinding('/data', 0, 4096)).toMatchObject({
      ...{ status: 'fail', message: 'only 0 bytes free in /data: nothing can be written' },
      remedy: 'free disk space now',
    });
    expect(diskFinding('/data', 2 ** 29, 2 ** 30)).toMatchObject({ status: 'warn', message: '0.5 GiB free in /data' });
  });

  it('whose ledger path goes through a link fails with the path to configure instead', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    symlinkSync(join(world.folder, 'data'), join(world.folder, 'link'));
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, http: { port: 0 }, ledger: { path: './link/ledger.db' } });
    const { code, checks } = await examine(world);
    expect(code).toBe(4);
    expect(about(checks, 'ledger')).toMatchObject([
      {
        ...{ status: 'fail', message: expect.stringContaining('is a link') },
        remedy: expect.stringContaining(join(world.folder, 'data')),
      },
    ]);
    expect((await world.run('sync')).err).toContain(join(world.folder, 'data'));
  });

  it('whose ledger is a link to a file on another disk syncs into that file, and leaves the link', async () => {
    const world = await createWorld(FIRST);
    mkdirSync(join(world.folder, 'disk'), { mode: 0o700 });
    mkdirSync(join(world.folder, 'data'), { mode: 0o700 });
    const [file, link] = [join(world.folder, 'disk', 'real.db'), join(world.folder, 'data', 'ledger.db')];
    writeFileSync(file, '', { mode: 0o600 });
    symlinkSync(file, link);
    expect(await world.run('sync')).toMatchObject({ code: 0 });
    expect(about((await examine(world)).checks, 'ledger')).toMatchObject([{ status: 'ok' }]);
    expect(readdirSync(join(world.folder, 'disk'))).toContain('checkpoints.log');
    expect(readdirSync(join(world.folder, 'data'))).toEqual(['ledger.db']);
    expect((await world.run('backup', 'copy.db')).code).toBe(0);
    expect((await world.run('restore', 'copy.db')).code).toBe(0);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect((await world.run('sync')).code).toBe(0);
  });

  it('whose native module is for another Node version is asked to rebuild it by every command', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    const hook = join(world.folder, 'other-node.cjs');
    writeFileSync(
      hook,
      `const { dlopen } = process;
       process.dlopen = (module, file, ...rest) => {
         if (!String(file).includes('better')) return dlopen(module, file, ...rest);
         const message = 'The module was compiled against a different Node.js version using\\nNODE_MODULE_VERSION 115.';
         throw Object.assign(new Error(message), { code: 'ERR_DLOPEN_FAILED' });
       };`,
    );
    // The service answers in this process, which must not be blocked meanwhile.
    const run = async (command: string) => {
      const args = ['--require', hook, CLI, command];
      const ended = await execFile(process.execPath, args, { cwd: world.folder }).catch((error: Said) => error);
      return `${ended.stdout}${ended.stderr}`;
    };
    const told = /different Node\.js version using NODE_MODULE_VERSION 115\.\n +run `npm rebuild better-sqlite3`/;
    expect(await run('doctor')).toMatch(told);
    expect(await run('status')).toMatch(told);
  });

  it('without write permission gets a remedy and no stack trace', async () => {
    const world = await createWorld(FIRST);
    writeFileSync(join(world.folder, 'file'), '');
    world.configure({
      workspaces: [workspaceSettings(world.sandbox, FIRST)],
      ledger: { path: '/sys/usage-ledger/ledger.db' },
    });
    const { code, err } = await world.run('migrate');
    expect(code).toBe(2);
    expect(err).toMatch(/^error: .*E(ACCES|PERM|ROFS): .*\/sys.*\n {2}(grant the user|the file system is read-only)/);
    expect(err.trimEnd().split('\n')).toHaveLength(2);
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], ledger: { path: './file/ledger.db' } });
    expect((await world.run('sync')).err).toMatch(/part of .* is a file, not a folder/);
  });

  it('is checked for everything that the daemon writes, before a ledger exists', async () => {
    const world = await createWorld(FIRST);
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    const places = ['backup', 'exports', 'checkpoints', 'redis'];
    const examined = async (settings: object) => {
      world.configure({ workspaces, http: { port: 0 }, ...settings });
      const { code, checks } = await examine(world);
      return { code, told: checks.filter(({ check, status }) => places.includes(check) && status === 'fail') };
    };
    const file = join(world.folder, 'file');
    const exported = { name: 'usage', view: 'usage', format: 'csv', cron: '0 6 * * *' };
    const within = { backup: { folder: './new/backups' }, exports: [{ ...exported, folder: './new/exports' }] };
    expect(await examined({ ...within, ledger: { checkpoint_key_file: './keys/key' } })).toEqual({ code: 0, told: [] });

    writeFileSync(file, 'no key');
    mkdirSync(join(world.folder, 'data', 'ledger.db.redis'), { recursive: true, mode: 0o700 });
    chmodSync(join(world.folder, 'data', 'ledger.db.redis'), 0o777);
    const without = { backup: { folder: file }, exports: [{ ...exported, folder: join(file, 'exports') }] };
    const { code, told } = await examined({ ...without, ledger: { checkpoint_key_file: file } });
    expect(code).toBe(4);
    expect(told).toMatchObject([
      { check: 'checkpoints', message: expect.stringContaining('checkpoints cannot be signed'), remedy: KEY_REMEDY },
      { check: 'backup', message: `${file} is not a folder`, remedy: expect.stringContaining('`backup.folder`') },
      { check: 'exports', subject: 'usage', message: `no file: ${file} is not a folder` },
      { check: 'redis', message: expect.stringContaining('is writable by every user'), remedy: CHMOD },
    ]);
    expect((await examined({ ledger: { checkpoint_key_file: join(file, 'key') } })).told).toMatchObject([
      { check: 'checkpoints', status: 'fail' },
      { check: 'redis' },
    ]);
  });
});
