import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/durations.ts';
import { daemonFolder, ONE_TICK, startService } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { prepareBackup } from './scheduled-backup.ts';

test('the oldest backups are removed once the new one exists; files with other names stay', async () => {
  const { folder, clock, start } = await prepareBackup();
  mkdirSync(folder);
  const foreign = ['ledger-20200101T000000Z.db-wal', 'ledger-2020.db', 'my-ledger-20200101T000000Z.db', 'notes.txt'];
  for (const name of foreign) writeFileSync(join(folder, name), '');
  const schedule = start();
  for (let day = 0; day < 5; day += 1) {
    await schedule.run();
    clock.advance(DAY_MS);
  }
  expect(readdirSync(folder).filter((name) => !foreign.includes(name))).toEqual([
    'ledger-20260322T120000Z.db',
    'ledger-20260323T120000Z.db',
    'ledger-20260324T120000Z.db',
  ]);
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(foreign));
});

test('the daemon makes due backups, and a signal during a backup stops it cleanly', async () => {
  const settings = { ...ONE_TICK, backup: { cron: '0 0 1 1 *', folder: './kept' } };
  const folder = daemonFolder(await startService(), settings);
  const daemon = startDaemonProcess(folder);
  const { path } = await daemon.line('backup made');
  expect(readdirSync(join(folder, 'kept')).map((name) => join(folder, 'kept', name))).toEqual([path]);
  daemon.child.kill('SIGTERM');
  expect(await daemon.exit()).toBe(0);

  rmSync(String(path));
  const next = startDaemonProcess(folder);
  await next.line('ready');
  next.child.kill('SIGTERM');
  expect(await next.exit()).toBe(0);
  expect(readdirSync(join(folder, 'kept')).filter((name) => !/^ledger-\d{8}T\d{6}Z\.db$/.test(name))).toEqual([]);
});
