import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { countRows } from '../../support/count-rows.ts';
import { type LedgerSize, ledgerSettings, makeLedger } from '../../support/large-ledger.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { type ServedConsole, serveConsole } from './served-console.ts';

const SMALL: LedgerSize = { workspaces: 2, tenantsEach: 60, months: 3, closedMonths: 1, jumps: 4 };
const LARGE: LedgerSize = { ...SMALL, tenantsEach: 180 };

async function serveLedger(size: LedgerSize): Promise<ServedConsole> {
  const folder = temporaryFolder();
  await makeLedger(join(folder, 'data', 'ledger.db'), size, NOON);
  writeFileSync(join(folder, 'usage-ledger.yml'), stringify(ledgerSettings(size)), { mode: 0o600 });
  return serveConsole({ folder, clock: { nowMs: NOON, serviceMs: NOON } });
}

/** Returns the rows that each page of a ledger of this size reads when it is shown again. */
async function rowsRead(size: LedgerSize, paths: readonly string[]): Promise<Map<string, number>> {
  const { signIn, context } = await serveLedger(size);
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

it('a month of many workspaces is shown in pages, with those that block it first', async () => {
  const size: LedgerSize = { workspaces: 60, tenantsEach: 2, months: 2, closedMonths: 1, jumps: 0 };
  const { signIn, context } = await serveLedger(size);
  const visitor = await signIn('finance');
  const [first, second, beyond] = await Promise.all(
    ['', '?page=2', '?page=99'].map((query) => visitor.get(`/months/2026-02${query}`)),
  );
  const listed = (body = '') => [...body.matchAll(/name="id" value="([^"]*)"/g)].map(([, id]) => id);
  const ids = context.config.workspaces.map(({ id }) => id);
  expect([listed(first?.body), listed(second?.body)]).toEqual([ids.slice(0, 50), ids.slice(50)]);
  expect(listed(beyond?.body)).toEqual(ids.slice(50));
  expect(first?.body).toContain('60 closed, 0 ready, 0 blocked');
});
