import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { countRows } from '../../support/count-rows.ts';
import { type LedgerSize, ledgerSettings, makeLedger } from '../../support/large-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { serveConsole } from './served-console.ts';

const SMALL: LedgerSize = { workspaces: 2, tenantsEach: 60, months: 3, closedMonths: 1, jumps: 4 };
const LARGE: LedgerSize = { ...SMALL, tenantsEach: 180 };

/** Serves the console over a ledger of this size; returns the rows that each page reads when it is shown again. */
async function rowsRead(size: LedgerSize, paths: readonly string[]): Promise<Map<string, number>> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  await makeLedger(join(folder, 'data', 'ledger.db'), size, NOON);
  writeFileSync(join(folder, 'usage-ledger.yml'), stringify(ledgerSettings(size)), { mode: 0o600 });
  const { signIn, context } = await serveConsole({ folder, clock: { nowMs: NOON, serviceMs: NOON } });
  const counted = countRows(context.reader().connection);
  const visitor = await signIn('finance');
  const found = new Map<string, number>();
  for (const path of paths) {
    await visitor.get(path);
    counted.start();
    const { status } = await visitor.get(path);
    expect([path, status]).toEqual([path, 200]);
    found.set(path, counted.rows);
  }
  return found;
}

describe('a page of the console', () => {
  it('reads no more rows of a ledger with three times as many tenants', async () => {
    const paths = ['/', '/alerts', '/alerts?state=all', '/tenants', '/tenants?sort=change', '/runs', '/system'];
    const [small, large] = [await rowsRead(SMALL, paths), await rowsRead(LARGE, paths)];
    expect([...large]).toEqual([...small]);
    // Rows of every page are counted, and not only those of the first one.
    for (const [path, rows] of small) expect([path, rows > 0]).toEqual([path, true]);
  });
});
