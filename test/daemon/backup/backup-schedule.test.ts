import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '../../../src/core/durations.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { removeUnfinishedBackups } from '../../../src/daemon/folders/folder-commands.ts';
import { withWorkFolder } from '../../../src/ledger/store/file/work-folder.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { prepareBackup, type ScheduledBackup } from './scheduled-backup.ts';

test('a missed slot is backed up once at the start, and the next slot when it is due', async () => {
  const { folder, clock, lines, start } = await prepareBackup();
  const schedule = start();
  await schedule.run();
  await schedule.run();
  expect(readdirSync(folder)).toEqual(['ledger-20260320T120000Z.db']);
  expect(lines).toMatchObject([{ level: 'info', msg: 'backup made', runs: 1, headDigest: expect.any(String) }]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const copy = new Database(join(folder, 'ledger-20260320T120000Z.db'), { readonly: true });
  expect(copy.prepare('SELECT sum(credits_used) FROM finance_usage').pluck().get()).toBe(100);
  copy.close();

  clock.set(Date.UTC(2026, 2, 21, 1, 59, 59));
  await schedule.run();
  expect(readdirSync(folder)).toHaveLength(1);
  clock.set(Date.UTC(2026, 2, 21, 2));
  await schedule.run();
  expect(readdirSync(folder)).toEqual(['ledger-20260320T120000Z.db', 'ledger-20260321T020000Z.db']);
});

test('a start makes no backup if the newest one is newer than the last slot', async () => {
  const { folder, start } = await prepareBackup();
  mkdirSync(folder);
  writeFileSync(join(folder, 'ledger-20260320T020000Z.db'), '');
  await start().run();
  expect(readdirSync(folder)).toEqual(['ledger-20260320T020000Z.db']);
});

test('a failed backup raises an alert, removes nothing, and is retried at the next slot, which ends the alert', async () => {
  const { folder, ledgerPath, clock, lines, told, start } = await prepareBackup();
  mkdirSync(folder);
  const old = ['01', '02', '03', '04'].map((day) => `ledger-202603${day}T020000Z.db`);
  for (const name of old) writeFileSync(join(folder, name), '');
  const connection = new Database(ledgerPath);
  connection.exec('UPDATE tenant_usage SET credits_used = 7');
  const schedule = start();
  await schedule.run();
  await schedule.run();
  expect(lines).toMatchObject([
    { level: 'error', msg: 'backup failed', code: 'backup_faulty', reason: expect.stringContaining('invariant') },
  ]);
  expect(readdirSync(folder)).toEqual(old);

  connection.exec('UPDATE tenant_usage SET credits_used = 100');
  connection.close();
  clock.advance(DAY_MS);
  await schedule.run();
  expect(lines.map(({ msg }) => msg)).toEqual(['backup failed', 'backup made', 'old backups removed']);
  expect(readdirSync(folder)).toEqual([...old.slice(2), 'ledger-20260321T120000Z.db']);
  expect(told).toEqual([expect.stringContaining('invariant'), null]);
});

test('logs an error if the folder cannot be created', async () => {
  const { folder, lines, start } = await prepareBackup();
  writeFileSync(folder, 'a file in its place');
  await start().run();
  expect(lines).toMatchObject([{ level: 'error', msg: 'backup failed', reason: expect.stringContaining(folder) }]);
});

test('logs an error if the child process cannot be started, and retries at the next slot', async () => {
  const { folder, clock, lines, start } = await prepareBackup();
  const { execPath } = process;
  process.execPath = join(folder, 'no-node-here');
  onTestFinished(() => {
    process.execPath = execPath;
  });
  const schedule = start();
  await schedule.run();
  expect(lines).toMatchObject([
    {
      level: 'error',
      msg: 'backup failed',
      code: 'backup_crashed',
      reason: expect.stringContaining('could not start the process'),
    },
  ]);
  process.execPath = execPath;
  clock.advance(DAY_MS);
  await schedule.run();
  expect(readdirSync(folder)).toEqual(['ledger-20260321T120000Z.db']);
});

test('a stop kills a running backup and removes its files', async () => {
  const { folder, schedule, lines } = await stopDuringBackup();
  expect(readdirSync(folder)).toEqual([]);
  expect(lines).toMatchObject([{ level: 'info', msg: 'backup aborted by the stop' }]);
  await schedule.stop();
  await schedule.run();
  expect(readdirSync(folder)).toEqual([]);
});

/** Stops a schedule whose backup is under way; where other work of the machine let it come too late, another one. */
async function stopDuringBackup(
  tries = 20,
): Promise<Pick<ScheduledBackup, 'folder' | 'lines'> & { schedule: PeriodicTask }> {
  const { folder, ledgerPath, lines, start } = await prepareBackup();
  const { connection } = openLedger(ledgerPath);
  await publish(
    connection,
    Array.from({ length: 5_000 }, (_, index) => usageRecord(`tenant-${index}`, index)),
  );
  mkdirSync(folder);
  const schedule = start();
  while (readdirSync(folder).length === 0) await new Promise((resolve) => setImmediate(resolve));
  const found = readdirSync(folder);
  await schedule.stop();
  if (lines[0]?.msg === 'backup made' && tries > 1) return stopDuringBackup(tries - 1);
  expect(found).toEqual([expect.stringMatching(/^ledger-20260320T120000Z\.db\.part-/)]);
  return { folder, schedule, lines };
}

test('a backup does not block the event loop', async () => {
  const { start } = await prepareBackup();
  const schedule = start();
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await schedule.run();
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});

test('rotation removes the remains of a killed backup, but not a backup in progress', async () => {
  const folder = temporaryFolder();
  const newest = 'ledger-20260320T120000Z.db';
  writeFileSync(join(folder, newest), '');
  mkdirSync(join(folder, 'ledger-20260318T020000Z.db.part-AbC123'));
  writeFileSync(join(folder, 'ledger-20260318T020000Z.db.part-AbC123', 'ledger.db'), '');
  await withWorkFolder(join(folder, 'ledger-20260320T020000Z.db.part-'), async (underWay) => {
    removeUnfinishedBackups(folder);
    expect(readdirSync(folder)).toEqual([basename(underWay), newest].sort());
  });
  expect(readdirSync(folder)).toEqual([newest]);
});
