import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { type DuckDb, openDuckDb } from '../../support/duckdb.ts';
import { createWorld, FIRST, row, type World } from '../world.ts';

const TENANTS = 2_000;
const LARGE = 1_000_000_000_000_003n;

/** What each month came to, by two ways that a half-written run would tell apart. */
const TOTALS = `SELECT (SELECT group_concat(period || ' ' || credits_used || ' ' || tenants, ',') FROM finance_period_totals)
  || ' | ' || (SELECT sum(credits_delta) || ' in ' || count(*) FROM finance_history);`;

/** As the documentation tells readers to open a ledger: who opens it while the last writer closes it waits for a moment. */
const READER = ['-readonly', '-batch', '-cmd', '.timeout 10000'];

/** The sqlite3 shell, which Debian builds from another version of SQLite than this program has inside. */
function openShell(path: string): (sql: string) => Promise<string> {
  const shell = spawn('sqlite3', [...READER, path], { stdio: ['pipe', 'pipe', 'inherit'] });
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

function doubleEverySecond(world: World): void {
  for (let at = 0; at < TENANTS; at += 2) {
    world.sandbox.workspace('ws-1').set({
      ...{ tenantId: `tenant-${at}`, period: '2026-02', requests: 20 },
      credits: LARGE * 2n,
    });
  }
}

/** What was read, again and again, from the start of a sync until it had ended well. */
async function readDuringSync(world: World, read: () => Promise<string>): Promise<string[]> {
  let running = true;
  const sync = world.run('sync').finally(() => {
    running = false;
  });
  const seen: string[] = [];
  while (running) seen.push(await read());
  expect((await sync).code).toBe(0);
  return seen;
}

it('reads one moment of the ledger with other readers while a sync writes, and holds nothing up', {
  timeout: 90_000,
}, async () => {
  const world = await createLarge();
  const ask = openShell(world.ledgerPath);
  const watching = openShell(world.ledgerPath);
  const before = await ask(TOTALS);
  doubleEverySecond(world);
  // One reader keeps its transaction open for as long as the sync takes, the other asks again and again.
  await ask(`BEGIN; ${TOTALS}`);
  const seen = await readDuringSync(world, () => watching(TOTALS));
  expect(await ask(TOTALS)).toBe(before);
  const after = await ask(`COMMIT; ${TOTALS}`);
  expect(after).not.toBe(before);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((totals) => totals !== before && totals !== after)).toEqual([]);
  expect(after).toContain(`2026-02 ${sumAfter()} ${TENANTS} | ${sumAfter()} in ${TENANTS * 1.5}`);
});

it('lets DuckDB query one moment of the ledger itself while a sync writes, and it agrees on the totals', {
  timeout: 90_000,
}, async () => {
  const world = await createLarge();
  const duck = await openDuckDb();
  const before = await totalsOfDuck(duck, world);
  doubleEverySecond(world);
  const seen = await readDuringSync(world, () => totalsOfDuck(duck, world));
  const after = `${sumAfter()} of ${TENANTS}, ${sumAfter()} by entries, ${sumAfter()} of ${TENANTS} by month`;
  expect(await totalsOfDuck(duck, world)).toBe(after);
  expect(before).not.toBe(after);
  expect(seen.length).toBeGreaterThan(0);
  expect(seen.filter((totals) => totals !== before && totals !== after)).toEqual([]);
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
  doubleEverySecond(world);
  const seen = await readDuringSync(world, totals);
  const after = `${sumAfter()} in ${TENANTS}`;
  expect(await totals()).toBe(after);
  expect(seen.filter((found) => found !== before && found !== after)).toEqual([]);
});

/** Every second tenant has twice as much then. */
function sumAfter(): bigint {
  let sum = 0n;
  for (let at = 0; at < TENANTS; at += 1) sum += at % 2 === 0 ? LARGE * 2n : LARGE + BigInt(at);
  return sum;
}

/** What DuckDB is given of the ledger: views and the columns of them, with its own types. */
const LIVE = {
  finance_usage: { tenant_id: 'VARCHAR', credits_used: 'BIGINT' },
  finance_history: { credits_delta: 'BIGINT' },
  finance_period_totals: { credits_used: 'BIGINT', tenants: 'BIGINT' },
} as const;

/**
 * What DuckDB makes of three views. Its own reader of SQLite files has to be downloaded, so the rows come through pipes, as
 * the sqlite3 shell reads them, read-only and in one transaction; nothing of this program is between the ledger and DuckDB.
 */
async function totalsOfDuck(duck: DuckDb, { folder, ledgerPath }: World): Promise<string> {
  const shell = spawn('sqlite3', [...READER, ledgerPath], { stdio: ['pipe', 'ignore', 'inherit'] });
  const exited = once(shell, 'exit');
  const views = Object.entries(LIVE).map(([view, columns]) => ({ view, columns, pipe: join(folder, `${view}.pipe`) }));
  execFileSync('mkfifo', ['-m', '600', ...views.map(({ pipe }) => pipe)]);
  const queries = views.map(
    ({ view, columns, pipe }) => `.output ${pipe}\nSELECT ${Object.keys(columns).join(', ')} FROM ${view};`,
  );
  shell.stdin.end(['.mode csv', 'BEGIN;', ...queries, '.output stdout', 'COMMIT;', ''].join('\n'));
  for (const { view, columns, pipe } of views) {
    const types = JSON.stringify(columns).replaceAll('"', "'");
    const source = `read_csv('${pipe}', auto_detect = false, header = false, columns = ${types})`;
    await duck.rows(`CREATE OR REPLACE TABLE ${view} AS SELECT * FROM ${source}`);
    rmSync(pipe);
  }
  expect(await exited).toEqual([0, null]);
  const [found] = await duck.rows(
    `SELECT (SELECT sum(credits_used) || ' of ' || count(DISTINCT tenant_id) FROM finance_usage) || ', '
       || (SELECT sum(credits_delta) FROM finance_history) || ' by entries, '
       || (SELECT sum(credits_used) || ' of ' || sum(tenants) FROM finance_period_totals) || ' by month' AS totals`,
  );
  return String(found?.totals);
}
