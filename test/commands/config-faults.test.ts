import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CLI } from '../support/daemon-process.ts';
import { createWorld, FIRST, parseJson, runInEmptyFolder, workspaceSettings } from './world.ts';

// cspell:ignore ledgr

const FIVE_MISTAKES = {
  ledgr: { path: 'x' },
  log_level: 'loud',
  http: { port: 99999 },
  workspaces: [{ id: 'ws-1', base_url: 'http://example.com', embed_url: 'https://example.com', per_page: 1000 }],
};
/** The two credentials are missing as well. */
const PATHS = ['http.port', 'ledgr', 'log_level', 'workspaces[0].base_url', 'workspaces[0].per_page'];

describe('a wrong configuration', () => {
  it.each(['sync', 'status', 'usage', 'verify', 'alerts', 'migrate', 'doctor'])(
    'is told by `%s` with every mistake at once and exit code 2',
    async (command) => {
      const world = await createWorld(FIRST);
      world.configure({
        ...FIVE_MISTAKES,
        workspaces: [{ ...FIVE_MISTAKES.workspaces[0], api_key_id: 'ak', secret_key: 'sk_not_a_secret' }],
      });
      const { code, out, err } = await world.run(command);
      expect(code).toBe(2);
      const told = command === 'doctor' ? out : err;
      for (const path of PATHS) expect(told).toContain(`${path}: `);
      if (command === 'doctor') expect(out.match(/^FAIL {2}configuration /gm)).toHaveLength(5);
      else expect(err).toContain('5 mistakes');
    },
  );

  it.each(['usage-ledger.yml', '.env', 'secret', 'ca.pem'])(
    'that is a pipe, here %s, is refused instead of waited for',
    async (name) => {
      const world = await createWorld(FIRST);
      const workspace = {
        ...workspaceSettings(world.sandbox, FIRST),
        secret_key_file: './secret',
        ca_file: './ca.pem',
      };
      world.configure({ workspaces: [{ ...workspace, secret_key: undefined }] });
      rmSync(join(world.folder, name), { force: true });
      execFileSync('mkfifo', [join(world.folder, name)]);
      const args = [CLI, 'status'];
      const { status, stderr } = spawnSync(process.execPath, args, {
        ...{ cwd: world.folder, encoding: 'utf8', timeout: 60_000, killSignal: 'SIGKILL' },
      });
      expect(stderr).toContain('cannot be read (it is not a regular file)');
      expect(status).toBe(2);
    },
  );

  it('fits a terminal of 80 columns', async () => {
    const world = await createWorld(FIRST);
    world.configure({ ...FIVE_MISTAKES, colour: 'x' });
    const { out } = await world.runOnTerminal(80, 'status');
    expect(out).toMatch(/^ {4}Remove it; the settings here are .*\n {4}\S/m);
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('is listed as data with --json', async () => {
    const world = await createWorld(FIRST);
    world.configure({ ...FIVE_MISTAKES, workspaces: [] });
    const { code, out } = await world.run('status', '--json');
    expect(code).toBe(2);
    const { error } = parseJson(out);
    expect(error.code).toBe('config');
    expect(error.faults.map((fault: { path: string }) => fault.path)).toEqual([
      'http.port',
      'ledgr',
      'log_level',
      'workspaces',
    ]);
    expect(error.faults.every((fault: { hint: string }) => fault.hint.length > 10)).toBe(true);
  });

  it('that is missing altogether names `init` as the remedy', async () => {
    const { code, err } = await runInEmptyFolder('status');
    expect(code).toBe(2);
    expect(err).toContain('usage-ledger init');
  });
});

describe('init', () => {
  it('writes the three files and says so', async () => {
    const { code, out, err, folder } = await runInEmptyFolder('init');
    expect(code).toBe(0);
    expect(out).toBe('wrote ./usage-ledger.yml\nwrote ./.env.example\nwrote ./ecosystem.config.cjs\n');
    expect(err).toContain('usage-ledger doctor');
    expect(statSync(join(folder, 'usage-ledger.yml')).mode & 0o777).toBe(0o600);
  });

  it('never overwrites a file', async () => {
    const world = await createWorld(FIRST);
    const before = readFileSync(join(world.folder, 'usage-ledger.yml'), 'utf8');
    writeFileSync(join(world.folder, '.env.example'), 'MINE=1\n');
    writeFileSync(join(world.folder, 'ecosystem.config.cjs'), '// mine\n');
    const { code, out } = await world.run('init', '--json');
    expect(code).toBe(0);
    expect(parseJson(out)).toEqual({
      written: [],
      kept: ['usage-ledger.yml', '.env.example', 'ecosystem.config.cjs'].map((name) => join(world.folder, name)),
    });
    expect(readFileSync(join(world.folder, 'usage-ledger.yml'), 'utf8')).toBe(before);
    expect(readFileSync(join(world.folder, '.env.example'), 'utf8')).toBe('MINE=1\n');
    expect(readFileSync(join(world.folder, 'ecosystem.config.cjs'), 'utf8')).toBe('// mine\n');
  });
});

describe('a command that reads the ledger', () => {
  it.each(['status', 'usage', 'verify', 'alerts', 'tenant'])(
    'says how to get a ledger when there is none: `%s`',
    async (command) => {
      const world = await createWorld(FIRST);
      const argv = command === 'tenant' ? ['tenant', 'acme'] : [command];
      const { code, out, err } = await world.run(...argv, '--json');
      expect(code).toBe(1);
      expect(err).toContain('usage-ledger sync');
      expect(parseJson(out).error.code).toBe('ledger_missing');
      expect(existsSync(world.ledgerPath)).toBe(false);
    },
  );
});
