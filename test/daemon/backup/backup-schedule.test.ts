import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import type { PeriodicTask } from '../../../src/core/periodic-task.ts';
import { startBackupSchedule } from '../../../src/daemon/backup/backup-schedule.ts';
import { removeUnfinishedBackups } from '../../../src/daemon/folders/folder-commands.ts';
import { inWorkFolder } from '../../../src/ledger/store/file/work-folder.ts';
import { daemonFolder, ONE_TICK, startService } from '../../support/daemon-folder.ts';
import { startDaemonProcess } from '../../support/daemon-process.ts';
import { openLedger, publish, usageRecord } from '../../support/open-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { type TestClock, testClock } from '../../support/time/test-clock.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

interface Scheduled {
  folder: string;
  ledgerPath: string;
  clock: TestClock;
  lines: { level: string; msg: string; [field: string]: unknown }[];
  /** What the alert about backups was told to say. */
  told: (string | null)[];
  start(): PeriodicTask;
}

/** A ledger with a run, to be backed up daily at 02:00 into a folder beside it that keeps three. */
async function prepare(): Promise<Scheduled> {
  const { path: ledgerPath, connection } = openLedger();
  await publish(connection, [usageRecord('a', 100)]);
  const folder = join(dirname(ledgerPath), 'backups');
  const clock = testClock();
  const lines: Scheduled['lines'] = [];
  const told: Scheduled['told'] = [];
  const logger = createLogger({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const start = (): PeriodicTask => {
    const schedule = startBackupSchedule({
      ledgerPath,
      backup: { cron: '0 2 * * *', keep: 3, folder, to: null },
      reportHealth: async (detail) => void told.push(detail),
      clock,
      logger,
    });
    onTestFinished(() => schedule.stop());
    return schedule;
  };
  return { folder, ledgerPath, clock, lines, told, start };
}

test('a missed slot is backed up once at the start, and the next slot when it is due', async () => {
  const { folder, clock, lines, start } = await prepare();
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
  const { folder, start } = await prepare();
  mkdirSync(folder);
  writeFileSync(join(folder, 'ledger-20260320T020000Z.db'), '');
  await start().run();
  expect(readdirSync(folder)).toEqual(['ledger-20260320T020000Z.db']);
});

test('the oldest backups are removed once the new one exists; files with other names stay', async () => {
  const { folder, clock, start } = await prepare();
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

test('a failed backup raises an alert, removes nothing, and is retried at the next slot, which ends the alert', async () => {
  const { folder, ledgerPath, clock, lines, told, start } = await prepare();
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
  const { folder, lines, start } = await prepare();
  writeFileSync(folder, 'a file in its place');
  await start().run();
  expect(lines).toMatchObject([{ level: 'error', msg: 'backup failed', reason: expect.stringContaining(folder) }]);
});

test('logs an error if the child process cannot be started, and retries at the next slot', async () => {
  const { folder, clock, lines, start } = await prepare();
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
async function stopDuringBackup(tries = 20): Promise<Pick<Scheduled, 'folder' | 'lines'> & { schedule: PeriodicTask }> {
  const { folder, ledgerPath, lines, start } = await prepare();
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
  const { start } = await prepare();
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
  await inWorkFolder(join(folder, 'ledger-20260320T020000Z.db.part-'), async (underWay) => {
    removeUnfinishedBackups(folder);
    expect(readdirSync(folder)).toEqual([basename(underWay), newest].sort());
  });
  expect(readdirSync(folder)).toEqual([newest]);
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
