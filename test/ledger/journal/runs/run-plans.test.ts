import { expect, test } from 'vitest';
import { openLedger, publish, usageRecord } from '../../../support/open-ledger.ts';
import { LOG_ROUTES, setRoutes } from '../../../support/run/real-run.ts';
import { NOON } from '../../../support/time/test-clock.ts';

const HOUR_MS = 60 * 60_000;
/** Tables of a scan that grows with neither workspaces, runs nor months: what people have made, or the first row alone. */
const FEW = /^SCAN (?:silences|rate_cards|period_events|acts|each VIRTUAL TABLE INDEX 1:|some)$/;
/** Of rows that stand in the statement itself or come from a search. */
const OWN = /CONSTANT ROW|VALUES CLAUSE|\(subquery-\d+\)/;

test('no statement of a run reads a table that grows with workspaces, runs or months as a whole', async () => {
  const { path, connection: first } = openLedger();
  const records = (credits: number) =>
    ['acme', 'bolt'].flatMap((tenant) =>
      ['2026-01', '2026-02', '2026-03'].map((period) => usageRecord(tenant, credits, period)),
    );
  const run = (connection: typeof first, workspaceId: string, credits: number, hours: number) =>
    publish(connection, records(credits), { workspaceId, nowMs: NOON + hours * HOUR_MS });
  for (const workspaceId of ['ws-1', 'ws-2']) await run(first, workspaceId, 1_000, 0);
  // A connection of its own has prepared nothing yet, so each of its statements is seen.
  const { connection } = openLedger(path);
  const asked = new Set<string>();
  const prepare = connection.prepare.bind(connection);
  connection.prepare = (sql: string) => {
    asked.add(sql);
    return prepare(sql);
  };
  setRoutes(connection, LOG_ROUTES, NOON);
  asked.clear();

  await run(connection, 'ws-1', 1_000, 1);
  await run(connection, 'ws-1', 9_000, 2);
  await run(connection, 'ws-1', 10, 3);

  // With foreign keys a plan names the scans of a parent's children, which none of these statements makes.
  connection.pragma('foreign_keys = OFF');
  const scans = [...asked].flatMap((sql) => {
    const names = [...sql.matchAll(/@(\w+)/g)].map(([, name]) => [name, 1]);
    const values = names.length > 0 ? [Object.fromEntries(names)] : (sql.match(/\?/g) ?? []).map(() => 1);
    const plan = prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
    return plan
      .filter(({ detail }) => /SCAN|AUTOMATIC/.test(detail) && !FEW.test(detail) && !OWN.test(detail))
      .map(({ detail }) => `${detail}: ${sql}`);
  });
  expect(asked.size).toBeGreaterThan(80);
  expect(scans).toEqual([]);
});
