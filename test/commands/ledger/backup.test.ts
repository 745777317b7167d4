import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CLI } from '../../support/daemon-process.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { createWorld, FIRST, parseJson, row, runInEmptyFolder } from '../world.ts';

describe('backup', () => {
  it('writes a checked copy and says its size, runs and head digest', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { code, out, err } = await world.run('backup', 'copy.db');
    expect(code).toBe(0);
    expect(err).toBe('');
    expect(out).toMatch(/^wrote .*\/copy\.db, [\d,]+ bytes\nverified 1 applied run, 6 entries\nhead digest \w{64}\n$/);
    expect(statSync(join(world.folder, 'copy.db')).mode & 0o777).toBe(0o600);
  });

  it('gives the same as JSON, with the head digest that verify says', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { out } = await world.run('backup', 'copy.db', '--json');
    const { head_digest } = parseJson((await world.run('verify', '--json')).out);
    expect(parseJson(out)).toEqual({
      path: join(world.folder, 'copy.db'),
      size_bytes: statSync(join(world.folder, 'copy.db')).size,
      runs: 1,
      entries: 6,
      keys: 6,
      head_digest,
    });
  });

  it('keeps an existing file, and replaces it with --force', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    await world.run('backup', 'copy.db');
    const second = await world.run('backup', 'copy.db');
    expect(second.code).toBe(1);
    expect(second.err).toMatch(/copy\.db exists\n.*--force/);
    expect((await world.run('backup', 'copy.db', '--force')).code).toBe(0);
  });

  it('says what is missing: the folder, or the ledger', async () => {
    const world = await createWorld(FIRST);
    expect((await world.run('backup', 'copy.db')).err).toMatch(/there is no ledger at .*\n.*sync/);
    await world.run('sync');
    expect((await world.run('backup', 'no/copy.db')).err).toMatch(/folder .*\/no does not exist\n.*create it/);
    expect(readdirSync(world.folder).sort()).toEqual(['data', 'usage-ledger.yml']);
  });

  it('stopped by Ctrl-C leaves nothing', async () => {
    const world = await createWorld(FIRST);
    mkdirSync(join(world.folder, 'data'));
    const { connection } = openLedger(world.ledgerPath);
    await publish(
      connection,
      Array.from({ length: 5_000 }, (_, index) => usageRecord(`tenant-${index}`, index)),
    );
    mkdirSync(join(world.folder, 'out'));
    const { code, errors, found } = await interruptBackup(world.folder);
    expect(found).toEqual([expect.stringMatching(/^copy\.db\.part-/)]);
    expect(code).toBe(130);
    expect(errors).toContain('stopped by SIGINT');
    expect(readdirSync(join(world.folder, 'out'))).toEqual([]);
  });

  /** Ctrl-C during a backup; where other work of the machine let it come too late, during another one. */
  async function interruptBackup(
    folder: string,
    tries = 20,
  ): Promise<{ code: unknown; errors: string; found: string[] }> {
    const child: ChildProcess = spawn(process.execPath, [CLI, 'backup', 'out/copy.db'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let errors = '';
    child.stderr?.on('data', (text) => {
      errors += text;
    });
    const ended = once(child, 'close');
    const out = join(folder, 'out');
    while (readdirSync(out).length === 0) await new Promise((resolve) => setImmediate(resolve));
    const found = readdirSync(out);
    child.kill('SIGINT');
    const [code] = await ended;
    if (!existsSync(join(out, 'copy.db')) || tries === 1) return { code, errors, found };
    rmSync(join(out, 'copy.db'));
    return interruptBackup(folder, tries - 1);
  }
});

describe('restore', () => {
  it('puts a backup in place and names the ledger it keeps, with both head digests', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const { head_digest: first } = parseJson((await world.run('backup', 'copy.db', '--json')).out);
    world.sandbox.workspace().set({ tenantId: 'acme', period: '2026-02', credits: 6000, requests: 20 });
    await world.run('sync');
    const { head_digest: second } = parseJson((await world.run('verify', '--json')).out);

    const { code, out, err } = await world.run('restore', 'copy.db');

    expect({ code, err }).toEqual({ code: 0, err: '' });
    const replaced = `${world.ledgerPath}.replaced-20260220T120000Z`;
    expect(out.split('\n')).toEqual([
      `restored ${world.ledgerPath} from ${join(world.folder, 'copy.db')}`,
      'verified 1 applied run, 6 entries',
      `head digest ${first}`,
      `previous ledger kept as ${replaced}`,
      `previous head digest ${second}`,
      '',
    ]);
    expect(existsSync(join(world.folder, 'copy.db'))).toBe(true);
    const credits = "SELECT credits_used FROM finance_usage WHERE tenant_id = 'acme' AND period = '2026-02'";
    expect(world.query(credits)).toEqual([{ credits_used: 5000 }]);

    const back = await world.run('restore', replaced, '--json');
    expect(parseJson(back.out)).toEqual({
      ledger: world.ledgerPath,
      new_ledger_id: null,
      backup: replaced,
      runs: 2,
      entries: 7,
      keys: 6,
      head_digest: second,
      outdated: false,
      replaced: { path: `${replaced}-2`, head_digest: first },
    });
    expect(world.query(credits)).toEqual([{ credits_used: 6000 }]);
    // The restored ledger goes on as if nothing had been.
    world.sandbox.workspace().set({ tenantId: 'acme', period: '2026-02', credits: 7000, requests: 30 });
    expect((await world.run('sync')).code).toBe(0);
    expect((await world.run('verify')).code).toBe(0);
  });

  it('refuses what is no sound backup, with exit code 1', async () => {
    const world = await createWorld(FIRST, {
      ...FIRST,
      id: 'ws-2',
      api_key_id: 'ak_2',
      usage: [row('a', '2026-02', 1)],
    });
    await world.run('sync');
    const { code, err } = await world.run('restore', 'usage-ledger.yml');
    expect(code).toBe(1);
    expect(err).toMatch(/failed verification: file is not a database\n.*the ledger was not touched/);
    expect((await world.run('restore', 'none.db', '--json')).out).toContain('"backup_missing"');
  });

  it('needs a configuration that says where the ledger is', async () => {
    expect((await runInEmptyFolder('restore', 'copy.db')).code).toBe(2);
  });
});
