import { execSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { spawnServer } from '../../src/queue/redis/private-redis.ts';
import { freePort } from '../queue/support.ts';
import { examine } from './examine.ts';
import { createWorld, FIRST, NOON, SECOND, workspaceSettings } from './world.ts';

describe('doctor', () => {
  it('prints one ok line for each check, and creates no ledger', async () => {
    const world = await createWorld(FIRST, SECOND);
    const workspaces = [FIRST, SECOND].map((workspace) => workspaceSettings(world.sandbox, workspace));
    // The port of the pages may be that of a daemon of this machine.
    world.configure({ workspaces, http: { port: 0 } });
    const { code, out, err } = await world.run('doctor');
    expect(code).toBe(0);
    expect(err).toBe('');
    const lines = out.trimEnd().split('\n');
    expect(lines.every((line) => line.startsWith('ok    '))).toBe(true);
    expect(lines.map((line) => line.slice(6).split(':', 1)[0])).toEqual([
      'configuration',
      'service ws-1',
      'clock ws-1',
      'service ws-2',
      'clock ws-2',
      'ledger',
      'sqlite',
      'modes',
      'disk',
      'redis',
    ]);
    expect(out).toMatch(/service ws-1: http:\/\/127\.0\.0\.1:\d+ answered in \d+ ms; 6 records/);
    expect(existsSync(join(world.folder, 'data'))).toBe(false);
    await world.run('sync');
    expect((await examine(world)).troubles).toEqual([]);
  });

  it('names the setting of a wrong secret', async () => {
    const world = await createWorld(FIRST, SECOND);
    world.configure({
      workspaces: [
        { ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' },
        workspaceSettings(world.sandbox, SECOND),
      ],
    });
    const { code, ok, troubles } = await examine(world);
    expect({ code, ok }).toEqual({ code: 4, ok: false });
    expect(troubles).toMatchObject([
      { check: 'service', subject: 'ws-1', status: 'fail', remedy: expect.stringContaining('secret_key') },
    ]);
    expect((await world.run('doctor')).out).toMatch(/^FAIL {2}service ws-1: .*401.*\n {6}check .*secret_key/m);
  });

  it('names which of several keys is in use', async () => {
    const world = await createWorld(FIRST);
    const { api_key_id, secret_key, ...settings } = workspaceSettings(world.sandbox, FIRST);
    const own = { api_key_id, secret_key };
    const refused = { api_key_id: 'ak_new', secret_key: 'sk_new_not_a_secret' };
    const configure = (...keys: object[]) =>
      world.configure({ workspaces: [{ ...settings, keys }], http: { port: 0 } });
    configure(own, refused);
    expect((await world.run('doctor')).out).toMatch(new RegExp(`^ok {4}key ws-1: .*${api_key_id}`, 'm'));
    configure(refused, own);
    const { code, out } = await world.run('doctor');
    expect(code).toBe(0);
    expect(out).toMatch(new RegExp(`^warn {2}key ws-1: .*${api_key_id}`, 'm'));
  });

  it.each([
    [45, 'warn', "this machine's clock is 45 s ahead of the service's", 0],
    [-45, 'warn', "this machine's clock is 45 s behind the service's", 0],
    [150, 'fail', "this machine's clock is 150 s ahead of the service's", 4],
  ] as const)('finds a clock that is off by %s s', async (seconds, status, message, exitCode) => {
    const world = await createWorld(FIRST);
    // The Date header has whole seconds, so the middle of the second is taken for the service's time.
    world.clock.nowMs = NOON + 500 + seconds * 1000;
    const { code, troubles } = await examine(world);
    expect(code).toBe(exitCode);
    expect(troubles).toMatchObject([
      { check: 'clock', subject: 'ws-1', status, message, remedy: expect.stringContaining('NTP') },
    ]);
  });

  it('names the clock as the cause of a rejected signature', async () => {
    const world = await createWorld(FIRST);
    world.clock.nowMs = NOON - 10 * 60_000;
    const { code, troubles } = await examine(world);
    expect(code).toBe(4);
    expect(troubles).toMatchObject([
      { check: 'service', status: 'fail', remedy: expect.stringContaining('clock: it is 10 min behind') },
      { check: 'clock', status: 'fail', message: "this machine's clock is 600 s behind the service's" },
    ]);
  });

  it('reports a service that cannot be reached', async () => {
    const world = await createWorld(FIRST);
    await world.sandbox.close();
    const { code, troubles } = await examine(world);
    expect(code).toBe(4);
    expect(troubles).toMatchObject([{ check: 'service', subject: 'ws-1', status: 'fail', remedy: expect.any(String) }]);
  });

  it('reports a missing redis-server, unless redis_url is set', async () => {
    const world = await createWorld(FIRST);
    const { code, troubles } = await examine(world, { PATH: '' });
    expect(code).toBe(4);
    expect(troubles).toMatchObject([
      {
        check: 'redis',
        status: 'fail',
        message: 'redis-server is not on PATH',
        remedy: expect.stringContaining('redis_url'),
      },
    ]);
  });

  it('checks the version and the maxmemory-policy of redis_url', async () => {
    const world = await createWorld(FIRST);
    const dir = join(world.folder, 'redis');
    mkdirSync(dir);
    const socketPath = join(dir, 'redis.sock');
    const server = await spawnServer({ dir, socketPath });
    onTestFinished(() => void server.kill('SIGKILL'));
    const redis = new Redis(socketPath);
    redis.on('error', () => undefined);
    onTestFinished(() => redis.disconnect());
    // It listens on a socket alone until then.
    const port = await freePort();
    await redis.config('SET', 'port', String(port));
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, redis_url: `redis://127.0.0.1:${port}` });
    // PATH is empty: a configured Redis needs no program.
    const good = await examine(world, { PATH: undefined });
    expect(good.troubles).toEqual([]);
    expect(good.checks).toContainEqual(
      expect.objectContaining({
        check: 'redis',
        message: expect.stringMatching(/is Redis \d+\.\d+\.\d+, answered in/),
      }),
    );
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const { code, troubles } = await examine(world, { PATH: undefined });
    expect(code).toBe(4);
    expect(troubles).toMatchObject([
      {
        check: 'redis',
        status: 'fail',
        message: expect.stringContaining('allkeys-lru'),
        remedy: expect.stringContaining('noeviction'),
      },
    ]);
  });

  it('reports an unreachable redis_url without its password', async () => {
    const world = await createWorld(FIRST);
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, redis_url: 'redis://user:hunter2hunter2@127.0.0.1:9' });
    const { code, out, err } = await world.run('doctor');
    expect(code).toBe(4);
    expect(out).toMatch(/^FAIL {2}redis: redis:\/\/127\.0\.0\.1:9 is unavailable: .*ECONNREFUSED/m);
    expect(out + err).not.toContain('hunter2');
  });

  it('names the settings of secrets shorter than eight characters, without their values', async () => {
    const world = await createWorld(FIRST);
    const url = 'http://127.0.0.1:9/hook';
    const channels = [
      { type: 'log' },
      { type: 'webhook', name: 'ops', url, allow_private: true, secret: 'whsec_abc' },
      { type: 'webhook', name: 'sales', url, allow_private: true, secret: 'long-enough' },
    ];
    const workspaces = [workspaceSettings(world.sandbox, FIRST)];
    world.configure({ workspaces, redis_url: 'redis://:sesame1@127.0.0.1:9', alerts: { channels } });
    const { troubles } = await examine(world);
    const found = troubles.filter(({ check }) => check === 'secrets');
    expect(found.map(({ status, message }) => [status, message.slice(0, message.indexOf(' is '))])).toEqual([
      ['warn', 'secret of channel ops'],
      ['warn', 'the password in redis_url'],
    ]);
    const { out, err } = await world.run('doctor');
    expect(out + err).not.toMatch(/sesame1|whsec_abc/);
  });

  it('warns about alerts that no channel receives', async () => {
    const world = await createWorld(FIRST);
    const channels = [
      { type: 'log', severities: ['critical'] },
      { type: 'log', rules: ['drop', 'jump', 'workspace_jump', 'new_spend', 'regression'] },
    ];
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], alerts: { channels } });
    const { code, troubles } = await examine(world);
    expect(code).toBe(0);
    expect(troubles).toEqual([
      {
        ...{ check: 'routes', subject: null, status: 'warn' },
        message: 'no channel receives warning budget, margin, restatement, withdrawn, job_failed',
        remedy: expect.stringContaining('`severities`, `rules` and `workspaces`'),
      },
    ]);
  });

  it('never asks to remove the x bit of a folder at ledger.path', async () => {
    const world = await createWorld(FIRST);
    mkdirSync(world.ledgerPath, { recursive: true, mode: 0o755 });
    const { troubles } = await examine(world);
    expect(troubles.filter(({ remedy }) => remedy?.includes('chmod 600'))).toEqual([]);
  });

  it('warns about ledgers and secrets that others can read', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    chmodSync(world.ledgerPath, 0o644);
    chmodSync(join(world.folder, 'usage-ledger.yml'), 0o640);
    writeFileSync(join(world.folder, '.env'), 'A=1\n', { mode: 0o644 });
    const { code, troubles } = await examine(world);
    expect(code).toBe(0);
    expect(troubles).toMatchObject([
      { check: 'modes', status: 'warn', subject: 'ledger.db', message: expect.stringContaining('(mode 0644)') },
      { check: 'modes', status: 'warn', subject: '.env', message: expect.stringContaining('holds secrets') },
      { check: 'modes', status: 'warn', subject: 'usage-ledger.yml', message: expect.stringContaining('(mode 0640)') },
    ]);
    for (const { remedy } of troubles) execSync(/`(chmod .*)`/.exec(remedy ?? '')?.[1] ?? 'false');
    expect((await examine(world)).troubles).toEqual([]);
  });

  it('accepts a readable configuration without secrets in it', async () => {
    const world = await createWorld(FIRST);
    const reference = '$'.concat('{THE_SECRET}');
    const settings = { ...workspaceSettings(world.sandbox, FIRST), secret_key: reference };
    world.configure({ workspaces: [settings] });
    chmodSync(join(world.folder, 'usage-ledger.yml'), 0o644);
    const env = { PATH: process.env.PATH, THE_SECRET: FIRST.secret_key };
    expect((await examine(world, env)).troubles).toEqual([]);
  });

  it('checks the pm2 settings of the daemon', async () => {
    const world = await createWorld(FIRST);
    const file = join(world.folder, 'ecosystem.config.cjs');
    const right = {
      name: 'usage-ledger',
      script: 'daemon.js',
      kill_timeout: 20000,
      wait_ready: true,
      treekill: false,
      stop_exit_codes: [2],
    };
    const other = { name: 'other', script: 'other.js' };
    writeFileSync(file, `module.exports = { apps: ${JSON.stringify([other, right])} };`);
    const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !existsSync(join(folder, 'pm2')));
    const env = { PATH: folders.join(delimiter) };
    expect((await examine(world, env)).troubles).toMatchObject([
      { check: 'pm2', status: 'warn', message: 'pm2 is not installed' },
    ]);
    mkdirSync(join(world.folder, 'node_modules', '.bin'), { recursive: true });
    writeFileSync(join(world.folder, 'node_modules', '.bin', 'pm2'), '');
    const good = await examine(world, env);
    expect(good.troubles).toEqual([]);
    expect(good.checks.at(-1)).toMatchObject({ check: 'pm2', subject: 'usage-ledger', status: 'ok' });

    for (const watch of [true, 'data', ['data']]) {
      const other = await createWorld(FIRST);
      const app = JSON.stringify({ ...right, watch });
      writeFileSync(join(other.folder, 'ecosystem.config.cjs'), `module.exports = { apps: [${app}] };`);
      expect((await examine(other)).troubles).toMatchObject([
        { check: 'pm2', status: 'warn', remedy: expect.stringContaining('set watch to false') },
      ]);
    }

    const ofPm2 = join(world.folder, '.pm2');
    mkdirSync(ofPm2, { mode: 0o755 });
    const open = { check: 'pm2', status: 'warn', remedy: `run \`chmod 700 ${ofPm2}\`` };
    expect((await examine(world, { ...env, HOME: world.folder })).troubles).toMatchObject([open]);
    expect((await examine(world, { ...env, HOME: '/', PM2_HOME: ofPm2 })).troubles).toMatchObject([open]);
    chmodSync(ofPm2, 0o700);
    expect((await examine(world, { ...env, HOME: world.folder })).troubles).toEqual([]);

    const bad = await createWorld(FIRST);
    const wrong = { name: 'usage-ledger', script: 'daemon.js', kill_timeout: 1600 };
    writeFileSync(join(bad.folder, 'ecosystem.config.cjs'), `module.exports = { apps: ${JSON.stringify([wrong])} };`);
    const { code, troubles } = await examine(bad);
    expect(code).toBe(4);
    expect(troubles.map(({ check, remedy }) => [check, remedy])).toEqual([
      ['pm2', 'set kill_timeout to 20000 or more'],
      ['pm2', 'set wait_ready to true'],
      ['pm2', 'set treekill to false'],
      ['pm2', 'set stop_exit_codes to [2]'],
    ]);
  });
});

describe('the port of the pages', () => {
  it('fails when another program uses it, and passes when a daemon does', async () => {
    const world = await createWorld(FIRST);
    let answer = '{"status":"ok","uptime_seconds":3}';
    const server = createServer((_, response) => response.end(answer));
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    world.configure({ workspaces: [workspaceSettings(world.sandbox, FIRST)], http: { port } });
    expect((await world.run('doctor')).out).toContain(`a daemon answers on 127.0.0.1, port ${port}`);
    answer = '{"status":"up"}';
    const { code, out } = await world.run('doctor');
    expect(code).toBe(4);
    expect(out).toMatch(
      /^FAIL {2}http: 127\.0\.0\.1, port \d+ is used by another program\n.*choose another http\.port/m,
    );
  });
});
