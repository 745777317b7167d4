import { expect, test } from 'vitest';
import { importNames } from '../../src/ledger/journal/charges/names.ts';
import { viewColumnKind } from '../../src/reports/queries/finance-view.ts';
import { openLedger, publish as runWith, usageRecord } from '../support/open-ledger.ts';
import { NOON } from '../support/time/test-clock.ts';
import { copyServer } from './copy-server.ts';

const copies = copyServer();

test('each column of a view has the type of what it holds, so that Metabase and Grafana cast none', async () => {
  const { publish, reader } = await copies.open();
  await publish(openLedger().path);
  const columns = await reader.query<{ table_name: string; column_name: string; data_type: string }>(
    `SELECT table_name, column_name, data_type FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name LIKE 'finance\\_%'`,
  );
  const types = {
    ...{ date: 'timestamp with time zone', flag: 'boolean', credits: 'bigint', count: 'bigint', double: 'numeric' },
    ...{ amount: 'numeric', price: 'numeric' },
  } as const;
  const named = {
    labels: 'jsonb',
    overridden: 'jsonb',
    figures: 'jsonb',
    amounts: 'jsonb',
    projection: 'numeric',
    amount_value: 'double precision',
    margin_value: 'double precision',
    position: 'bigint',
  } as Record<string, string>;
  const wrong = columns.filter(({ column_name: name, data_type }) => {
    const kind = viewColumnKind(name);
    return data_type !== (named[name] ?? (kind in types ? types[kind as keyof typeof types] : 'text'));
  });
  expect(columns.length).toBeGreaterThan(100);
  expect(wrong).toEqual([]);
});

test('what Postgres cannot hold breaks no view: a year 0, and U+0000 in a label', async () => {
  const { connection, path } = openLedger();
  await runWith(connection, [usageRecord('acme', 7, '0000-05'), usageRecord('acme', 9, '2026-03')]);
  const labels = { one: 'a\u0000\u0000b', two: '\\u0000', three: '\\\u0000' };
  importNames(connection, {
    workspaceId: 'ws-1',
    names: [{ tenantId: 'acme', displayName: null, externalRef: null, labels }],
    nowMs: NOON,
    dryRun: false,
  });
  const { publish, reader: client } = await copies.open();
  await publish(path);
  expect(await client.query('SELECT labels FROM finance_tenants')).toEqual([
    { labels: { one: 'a␀0␀0b', two: '\\u0000', three: '\\␀0' } },
  ]);
  expect(await client.query('SELECT period, period_start FROM finance_usage ORDER BY period')).toEqual([
    { period: '0000-05', period_start: null },
    { period: '2026-03', period_start: new Date('2026-03-01T00:00:00.000Z') },
  ]);
});
