import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { createWorld, FIRST, parseJson, type World } from '../world.ts';

/** Changes the ledger behind its back, past its own guards. */
function tamper(world: World, sql: string): void {
  const connection = new Database(world.ledgerPath);
  connection.exec(sql);
  connection.close();
}

describe('verify', () => {
  it('says the counts and the head digest of a sound ledger', async () => {
    const world = await createWorld(FIRST);
    const sync = parseJson((await world.run('sync', '--json')).out);
    const { code, out } = await world.run('verify');
    expect(code).toBe(0);
    expect(out).toMatch(/^verified 1 applied run, 6 entries, 6 keys\nhead digest \w{64}\ncheckpoint key MCow\S+\n$/);
    expect(out).toContain(sync.workspaces[0].digest);
    expect(parseJson((await world.run('verify', '--json')).out)).toEqual({
      ok: true,
      runs: 1,
      entries: 6,
      keys: 6,
      head_digest: sync.workspaces[0].digest,
      checkpoint_key: expect.stringMatching(/^MCow/),
      checkpoints_lost: null,
      faults: [],
    });
  });

  it('holds the chain against heads that were kept elsewhere', async () => {
    const world = await createWorld(FIRST);
    const sync = parseJson((await world.run('sync', '--json')).out);
    const log = join(dirname(world.ledgerPath), 'checkpoints.log');
    const sound = await world.run('verify', '--checkpoint', log, '--expect-head', sync.workspaces[0].digest);
    expect(sound.code).toBe(0);
    expect(sound.out).toContain('1 checkpoint matches the chain (signed)');

    const other = await world.run('verify', '--expect-head', '0'.repeat(64));
    expect(other.code).toBe(4);
    expect(other.out).toMatch(/^FAULT anchor: no link of the chain has the digest 0{64}/m);
    const another = await createWorld(FIRST);
    await another.run('sync');
    const foreign = join(dirname(another.ledgerPath), 'checkpoints.log');
    expect((await world.run('verify', '--checkpoint', foreign)).out).toContain('belongs to another ledger');

    for (const args of [
      ['--expect-head', 'abc'],
      ['--checkpoint', '/nowhere'],
      ['--checkpoint', world.ledgerPath],
    ]) {
      expect((await world.run('verify', ...args)).code).toBe(2);
    }
    expect((await world.run('verify', '--checkpoint', log, '--checkpoint-key', 'x')).code).toBe(2);
  });

  it('checks a file that is named without any configuration, against heads that were kept elsewhere, too', async () => {
    const world = await createWorld(FIRST);
    const sync = parseJson((await world.run('sync', '--json')).out);
    const log = join(dirname(world.ledgerPath), 'checkpoints.log');
    const key = parseJson((await world.run('verify', '--json')).out).checkpoint_key;
    expect((await world.run('backup', 'copy.db')).code).toBe(0);
    for (const file of ['usage-ledger.yml', '.env']) rmSync(join(world.folder, file), { force: true });
    const anchors = ['--expect-head', sync.workspaces[0].digest, '--checkpoint', log, '--checkpoint-key', key];
    const { code, out } = await world.run('verify', 'copy.db', ...anchors);
    expect(out).toMatch(
      /^verified 1 applied run, 6 entries, 6 keys\nhead digest \w{64}\nthe chain contains the expected head/,
    );
    expect(out).toContain('1 checkpoint matches the chain (signed)');
    expect(code).toBe(0);
    expect((await world.run('verify', 'copy.db', '--expect-head', '0'.repeat(64))).code).toBe(4);
    expect((await world.run('verify', 'missing.db')).err).toMatch(
      /there is no ledger at .*\n {2}check the path of the file\n/,
    );
  });

  it('names the run of an entry that was edited, with exit code 4', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    tamper(
      world,
      'DROP TRIGGER usage_entries_no_update; UPDATE usage_entries SET credits_delta = 1, credits_after = 1 WHERE entry_id = 1',
    );
    const json = await world.run('verify', '--json');
    expect(json.code).toBe(4);
    const { ok, faults } = parseJson(json.out);
    expect(ok).toBe(false);
    expect(faults.map((fault: { check: string }) => fault.check)).toEqual(
      expect.arrayContaining(['chain', 'invariant']),
    );
    const text = await world.run('verify');
    expect(text.code).toBe(4);
    expect(text.out).toMatch(/^FAULT chain: run_\w+: its digest does not match its content, entries or row changes$/m);
    expect(text.out.match(/^FAULT /gm)).toHaveLength(faults.length);
    expect(text.err).toContain('restore');
  });

  it('takes a file that cannot be read to its end for a fault, not for a crash', async () => {
    const world = await createWorld(FIRST);
    await world.run('sync');
    const [runs] = world.query("SELECT rootpage FROM sqlite_schema WHERE name = 'runs'") as { rootpage: number }[];
    const pageStart = ((runs?.rootpage ?? 1) - 1) * 4096;
    const bytes = readFileSync(world.ledgerPath);
    writeFileSync(world.ledgerPath, bytes.fill(0xff, pageStart, pageStart + 4096));
    const { code, out, err } = await world.run('verify');
    expect(code).toBe(4);
    expect(out).toMatch(/^FAULT integrity: /m);
    expect(err).not.toContain('    at ');
  });

  it('fails on something that is no ledger at all', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    writeFileSync(world.ledgerPath, 'not a database, but long enough to be looked at '.repeat(50));
    const { code, err } = await world.run('verify');
    expect(code).toBe(2);
    expect(err).toContain('file is not a database');
  });
});

describe('migrate', () => {
  it('creates the ledger, and finds it current the second time', async () => {
    const world = await createWorld(FIRST);
    const first = await world.run('migrate');
    expect(first).toMatchObject({ code: 0, out: `created ${world.ledgerPath}\n` });
    expect(existsSync(world.ledgerPath)).toBe(true);
    expect((await world.run('migrate')).out).toBe(`${world.ledgerPath} is already current\n`);
    expect(parseJson((await world.run('migrate', '--json')).out)).toEqual({
      ledger: world.ledgerPath,
      outcome: 'current',
      migrations_applied: 0,
      backup: null,
    });
  });

  it('refuses a ledger of a newer version and says which', async () => {
    const world = await createWorld(FIRST);
    await world.run('migrate');
    tamper(world, "INSERT INTO schema_migrations VALUES (9999999999999, 'x', '99.0.0', '2099-01-01T00:00:00.000Z')");
    const { code, out, err } = await world.run('migrate', '--json');
    expect(code).toBe(2);
    expect(parseJson(out).error.code).toBe('ledger_newer');
    expect(err).toContain('install usage-ledger 99.0.0 or later');
  });
});
