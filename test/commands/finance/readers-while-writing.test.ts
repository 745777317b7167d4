import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { openDuckDb } from '../../support/duckdb.ts';
import { createWorld, FIRST, row, type World } from '../world.ts';

const TENANTS = 2_000;
const LARGE = 1_000_000_000_000_003n;

/** What each month came to, by two ways that a half-written run would tell apart. */
const TOTALS = `SELECT (SELECT group_concat(period || ' ' || credits_used || ' ' || tenants, ',') FROM finance_period_totals)
  || ' | ' || (SELECT sum(credits_delta) || ' in ' || count(*) FROM finance_history);`;

/** The sqlite3 shell, which Debian builds from another version of SQLite than this program has inside. */
function openShell(path: string): (sql: string) => Promise<string> {
  const shell = spawn('sqlite3', ['-readonly', '-batch', path], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(shell, 'exit');
  const lines = createInterface({ input: shell.stdout })[Symbol.asyncIterator]();
  onTestFinished(async () => {
    shell.stdin.end();
    await exited;
  });
  return async (sql) => {
    shell.stdin.write(`${sql}\n`);
    const { value } = await lines.next();
    return String(value);
  };
}

async function createLarge(): Promise<World> {
  const usage = Array.from({ length: TENANTS }, (_, at) => row(`tenant-${at}`, '2026-02', LARGE + BigInt(at)));
  const world = await createWorld({ ...FIRST, usage });
  expect((await world.run('sync')).code).toBe(0);
  return world;
}

it('reads one moment of the ledger with other readers while a sync writes, and holds nothing up', {
  timeout: 90_000,
}, async () => {
  const world = await createLarge();
  const ask = openShell(world.ledgerPath);
  const watching = openShell(world.ledgerPath);
  const before = await ask(TOTALS);
  for (let at = 0; at < TENANTS; at += 2) {
    world.sandbox.workspace('ws-1').set({
      ...{ tenantId: `tenant-${at}`, period: '2026-02', requests: 20 },
      credits: LARGE * 2n,
    });
  }
  // One reader keeps its transaction open for as long as the sync takes, the other asks again and again.
  await ask(`BEGIN; ${TOTALS}`);
  let running = true;
  const sync = world.run('sync').finally(() => {
    running = false;
  });
  const seen = new Set<string>();
  let readings = 0;
  while (running) {
    seen.add(await watching(TOTALS));
    readings += 1;
  }
  expect((await sync).code).toBe(0);
  expect(await ask(TOTALS)).toBe(before);
  const after = await ask(`COMMIT; ${TOTALS}`);
  expect(after).not.toBe(before);
  expect(readings).toBeGreaterThan(2);
  expect([...seen].filter((totals) => totals !== before && totals !== after)).toEqual([]);
  expect(after).toContain(`2026-02 ${sumAfter()} ${TENANTS} | ${sumAfter()} in ${TENANTS * 1.5}`);
});

it('exports one moment of the ledger while a sync writes, with totals to which DuckDB comes too', {
  timeout: 90_000,
}, async () => {
  const world = await createLarge();
  const duck = await openDuckDb();
  const path = join(world.folder, 'usage.parquet');
  const totals = async () => {
    expect((await world.run('export', 'usage', '--format', 'parquet', '--out', path)).code).toBe(0);
    const [found] = await duck.rows(`SELECT sum(credits_used)::VARCHAR AS credits, count(*) AS rows FROM '${path}'`);
    return `${found?.credits} in ${found?.rows}`;
  };
  const before = await totals();
  for (let at = 0; at < TENANTS; at += 2) {
    world.sandbox.workspace('ws-1').set({
      ...{ tenantId: `tenant-${at}`, period: '2026-02', requests: 20 },
      credits: LARGE * 2n,
    });
  }
  let running = true;
  const sync = world.run('sync').finally(() => {
    running = false;
  });
  const seen = new Set<string>();
  while (running) seen.add(await totals());
  await sync;
  const after = `${sumAfter()} in ${TENANTS}`;
  expect(await totals()).toBe(after);
  expect([...seen].filter((found) => found !== before && found !== after)).toEqual([]);
});

/** Every second tenant has twice as much then. */
function sumAfter(): bigint {
  let sum = 0n;
  for (let at = 0; at < TENANTS; at += 1) sum += at % 2 === 0 ? LARGE * 2n : LARGE + BigInt(at);
  return sum;
}
