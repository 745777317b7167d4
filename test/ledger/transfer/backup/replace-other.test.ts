import { existsSync, lstatSync, mkdirSync, readlinkSync, realpathSync, renameSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/audit/verify/verify.ts';
import { openForWriting, openReader } from '../../../../src/ledger/store/file/open.ts';
import { backupLedger } from '../../../../src/ledger/transfer/backup/backup.ts';
import { restoreLedger } from '../../../../src/ledger/transfer/backup/restore.ts';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { rejection } from '../../../support/rejection.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const signal = new AbortController().signal;
const order = { version: '0.0.0', nowMs: NOON, signal };

test("another ledger's backup takes the place of a ledger only when that is asked for", async () => {
  const ours = await closedLedger(1);
  const theirs = await closedLedger(2);

  const refused = await rejection(restoreLedger({ ...order, file: theirs.backup, ledgerPath: ours.path }));

  expect(refused).toMatchObject({ code: 'other_ledger', hint: expect.stringContaining('--replace-other') });
  expect(headOf(ours.path)).toBe(ours.head);
  const report = await restoreLedger({ ...order, file: theirs.backup, ledgerPath: ours.path, replaceOther: true });
  expect(report).toMatchObject({ headDigest: theirs.head, replaced: { headDigest: ours.head } });
});

test('a restore through a link replaces its target and keeps the link', async () => {
  const { path, backup, head } = await closedLedger(1);
  const disk = join(temporaryFolder(), 'disk');
  mkdirSync(disk);
  const file = join(disk, 'ledger.db');
  renameSync(path, file);
  symlinkSync(file, path);

  const { replaced } = await restoreLedger({ ...order, file: backup, ledgerPath: path });

  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(dirname(replaced?.path ?? '')).toBe(realpathSync(disk));
  expect(headOf(file)).toBe(head);
});

test('everything that opens or creates a ledger refuses a dangling link', async () => {
  const { path, backup } = await closedLedger(1);
  const link = join(dirname(path), 'link.db');
  symlinkSync(join(dirname(path), 'gone', 'ledger.db'), link);
  symlinkSync(join(dirname(path), 'gone.db'), `${link}-2`);
  for (const broken of [link, `${link}-2`]) {
    const expected = expect.objectContaining({ code: 'ledger_link_broken', message: expect.stringContaining('gone') });
    expect(() => openForWriting(broken)).toThrow(expected);
    expect(() => openReader(broken)).toThrow(expected);
    expect((await rejection(restoreLedger({ ...order, file: backup, ledgerPath: broken }))).code).toBe(
      'ledger_link_broken',
    );
    expect(existsSync(readlinkSync(broken))).toBe(false);
  }
});

async function closedLedger(credits: number): Promise<{ path: string; backup: string; head: string }> {
  const { path, connection } = openLedger();
  await publish(connection, [usageRecord('a', credits)]);
  const backup = join(temporaryFolder(), 'backup.db');
  const { headDigest } = await backupLedger({ ledgerPath: path, target: backup, signal });
  connection.close();
  return { path, backup, head: headDigest };
}

function headOf(path: string): string {
  const reader = openReader(path);
  try {
    return verifyLedger(reader.connection).headDigest;
  } finally {
    reader.close();
  }
}
