import { statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/logger.ts';
import { startWalWatch } from '../../../src/daemon/watches/wal-watch.ts';
import { truncateLog } from '../../../src/ledger/store/file/open.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { createVirtualClock } from '../../support/time/virtual-clock.ts';

test('a write-ahead log kept by a long reader is truncated soon after the reader closes, even without writes', async () => {
  const ledgerPath = join(temporaryFolder(), 'ledger.db');
  const connection = new Database(ledgerPath);
  onTestFinished(() => void connection.close());
  connection.pragma('journal_mode = WAL');
  connection.pragma('busy_timeout = 60000');
  connection.pragma('journal_size_limit = 16777216');
  connection.exec('CREATE TABLE filler (bytes BLOB)');
  const reader = new Database(ledgerPath, { readonly: true });
  reader.exec('BEGIN');
  reader.prepare('SELECT count(*) FROM filler').get();
  for (let round = 0; round < 48; round += 1) connection.exec('INSERT INTO filler VALUES (zeroblob(1048576))');
  const logBytes = () => statSync(`${ledgerPath}-wal`).size;
  expect(logBytes()).toBeGreaterThan(40 * 1024 * 1024);

  const answers: boolean[] = [];
  const clock = createVirtualClock(0);
  const watch = startWalWatch({
    ledgerPath,
    checkpoint: async () => {
      const beganMs = performance.now();
      const cut = truncateLog(connection);
      expect(performance.now() - beganMs).toBeLessThan(30_000);
      answers.push(cut);
      return cut;
    },
    logger: createLogger({ level: 'silent' }),
    clock,
  });
  onTestFinished(() => watch.stop());
  await clock.advance(45_000);
  expect(answers).toEqual([false, false, false]);
  expect(connection.pragma('busy_timeout', { simple: true })).toBe(60_000);
  reader.close();
  await clock.advance(15_000);
  expect(logBytes()).toBeLessThanOrEqual(16 * 1024 * 1024);
});
