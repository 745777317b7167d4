import { expect, test } from 'vitest';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { expectSameInOlderSqlite } from '../../support/machine-sqlite.ts';
import { createFull, OF_OPEN_MONTHS } from './full-ledger.ts';

test('an older SQLite reads the same rows of every view', async () => {
  const world = await createFull();
  const { connection, close } = openReader(world.ledgerPath);
  const found = Object.entries(expectSameInOlderSqlite(connection, world.ledgerPath));
  close();
  expect(found.length).toBeGreaterThan(12);
  expect(found.filter(([, rows]) => rows === 0).map(([view]) => view)).toEqual(OF_OPEN_MONTHS);
}, 30_000);
