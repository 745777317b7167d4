import { chmodSync, chownSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseJson } from '../commands/world.ts';
import { startCommand, startDaemonProcess } from '../support/daemon-process.ts';
import { asFinance, createShared, FINANCE, readAsFinance } from './finance-reader.ts';

it('reads the ledger after a one-time sync, but no other file in its folder', async () => {
  const world = await createShared();
  expect(await startCommand(world.folder, 'sync').exit()).toBe(0);
  expect(readAsFinance(world)).toBe('6');
  const folder = join(world.ledgerPath, '..');
  expect(statSync(folder)).toMatchObject({ gid: FINANCE.gid, mode: 0o42750 });
  const readable = readdirSync(folder).filter((name) => asFinance('cat', join(folder, name)).status === 0);
  expect(readable.sort()).toEqual(['ledger.db', 'ledger.db-shm', 'ledger.db-wal']);
  expect(readdirSync(folder)).toContain('checkpoint.key');
  expect(asFinance('touch', join(folder, 'own')).status).not.toBe(0);
  expect(asFinance('sqlite3', world.ledgerPath, 'DELETE FROM runs').out).toMatch(/readonly/);
  expect(asFinance('cat', join(world.folder, 'usage-ledger.yml')).status).not.toBe(0);
});

it('reads an idle ledger with manually granted rights, without write access to its folder', async () => {
  const world = await createShared({});
  expect((await world.run('sync')).code).toBe(0);
  const folder = join(world.ledgerPath, '..');
  for (const name of readdirSync(folder)) chownSync(join(folder, name), 0, FINANCE.gid);
  for (const name of readdirSync(folder).filter((name) => name.startsWith('ledger.db'))) {
    chmodSync(join(folder, name), 0o640);
  }
  chownSync(folder, 0, FINANCE.gid);
  chmodSync(folder, 0o750);
  expect((await world.run('sync')).code).toBe(0);
  expect(readAsFinance(world)).toBe('6');
});

it('still reads the ledger after it was replaced by another one', async () => {
  const world = await createShared();
  expect((await world.run('sync')).code).toBe(0);
  expect((await world.run('backup', 'copy.db')).code).toBe(0);
  expect((await world.run('restore', 'copy.db')).code).toBe(0);
  expect(readAsFinance(world)).toBe('6');
});

it('doctor shows whether the group can read the ledger, or the reason', async () => {
  const world = await createShared();
  expect((await world.run('migrate')).code).toBe(0);
  const readers = async () => {
    const { out } = await world.run('doctor', '--json');
    const { checks } = parseJson(out) as { checks: Record<string, string>[] };
    return checks.find(({ subject }) => subject === 'readers');
  };
  expect(await readers()).toMatchObject({ check: 'ledger', status: 'ok' });
  chmodSync(world.ledgerPath, 0o600);
  expect(await readers()).toMatchObject({ status: 'fail', message: expect.stringContaining('cannot read') });
  expect((await world.run('migrate')).code).toBe(0);
  chmodSync(world.folder, 0o700);
  expect(readAsFinance(world)).toMatch(/unable to open/);
  expect(await readers()).toMatchObject({
    status: 'fail',
    remedy: expect.stringContaining(`chmod o+x ${world.folder}`),
  });
});

it('does not start if the group does not exist, and names it', async () => {
  const world = await createShared({ reader_group: 'no-such-group' });
  const { code, err } = await world.run('sync');
  expect(code).toBe(2);
  expect(err).toContain('this machine has no group "no-such-group"');
  expect(err).toContain('groupadd no-such-group');
  expect(await startDaemonProcess(world.folder).exit()).toBe(2);
});
