import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { createWorld, FIRST, NOON, parseJson, row, type World } from '../../commands/world.ts';
import { type DuckDb, openDuckDb } from '../../support/duckdb.ts';
import { brokenRules, type ReadRow } from './focus-rules.ts';

const HOUR = 3_600_000;
const LARGE = 9_007_199_254_740_993n;
const CARDS = [
  {
    ...{ name: 'standard', from_period: '2025-12', currency: 'EUR', included_credits: 100, discount_percent: '7.5' },
    graduated: [{ up_to: 500, price_per_credit: '0.0125' }, { price_per_credit: '0.000000000000000001' }],
    minimum: '15',
  },
  { name: 'yen', from_period: '2025-12', tenant: 'kaisha', currency: 'JPY', package: { credits: 1000, price: '950' } },
];
const USAGE = ['2025-12', '2026-01', '2026-02'].flatMap((period) => [
  ...[row('acme', period, 2000), row('=1+1', period, LARGE), row('kaisha', period, 2500), row('idle', period, 0)],
]);

/** Creates a ledger with tiers, packages, a top-up, a discount, two currencies, and a corrected closed month. */
async function createCorrected(): Promise<World> {
  const world = await createWorld({ ...FIRST, usage: USAGE });
  await world.run('migrate');
  writeFileSync(join(world.folder, 'rates.yml'), stringify({ rates: CARDS }));
  expect((await world.run('rates', 'apply', 'rates.yml', '--yes')).err).toBe('');
  await world.run('sync');
  writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name\nacme,"Acme, ""the"" Corp; =2+2"\n');
  expect((await world.run('tenants', 'import', 'names.csv')).code).toBe(0);
  world.clock.nowMs = NOON + 13 * HOUR;
  await world.run('sync');
  expect((await world.run('close', '2025-12', '--by', 'Ada')).code).toBe(0);
  for (const [tenantId, credits] of [
    ['acme', 1999],
    ['kaisha', 3001],
  ] as const) {
    world.sandbox.workspace('ws-1').set({ tenantId, period: '2025-12', credits, requests: 10 });
  }
  await world.run('sync');
  return world;
}

/** Parses rows: null is an empty field without quotes, all other fields stay text. */
const csv = (path: string) =>
  `read_csv('${path}', header = true, all_varchar = true, auto_detect = false, delim = ',', quote = '"', escape = '"',
     nullstr = '', allow_quoted_nulls = false, columns = COLUMNS_OF_FILE)`;

async function readCsv(duck: DuckDb, path: string): Promise<{ header: string[]; rows: ReadRow[] }> {
  const first = `read_csv('${path}', header = false, all_varchar = true, delim = ',')`;
  const [names] = await duck.rows(`SELECT * FROM ${first} LIMIT 1`);
  const header = Object.values(names ?? {}).map(String);
  const columns = `{${header.map((name) => `'${name}': 'VARCHAR'`).join(', ')}}`;
  const from = csv(path).replace('all_varchar = true, ', '').replace('COLUMNS_OF_FILE', columns);
  return { header, rows: (await duck.rows(`SELECT * FROM ${from}`)) as ReadRow[] };
}

const EXPECTED_TYPES = (column: string): string => {
  if (/^(.*Cost|.*Quantity|.*UnitPrice)$/.test(column)) return 'DOUBLE';
  if (/^(.*PeriodStart|.*PeriodEnd|x_AsOf)$/.test(column)) return 'TIMESTAMP WITH TIME ZONE';
  return ['x_EntryId', 'x_RequestCount'].includes(column) ? 'BIGINT' : 'VARCHAR';
};

test('FOCUS files read by DuckDB obey every static rule, and CSV and Parquet are equal', async () => {
  const world = await createCorrected();
  const duck = await openDuckDb();
  const kinds = new Set<string>();
  for (const period of ['2025-12', '2026-01', '2026-02']) {
    const write = async (format: string): Promise<string> => {
      const path = join(world.folder, `${period}.${format}`);
      const argv = ['export', 'focus', '--period', period, '--format', format];
      expect(await world.run(...argv, '--out', path)).toEqual({ code: 0, out: '', err: '' });
      return path;
    };
    const text = await readCsv(duck, await write('csv'));
    const parquet = `read_parquet('${await write('parquet')}')`;
    const types = await duck.types(parquet);
    const binary = { header: Object.keys(types), rows: (await duck.rows(`FROM ${parquet}`)) as ReadRow[] };

    expect(text.rows.length).toBeGreaterThan(4);
    expect(brokenRules(text.header, text.rows)).toEqual([]);
    expect(brokenRules(binary.header, binary.rows)).toEqual([]);
    expect(binary.header).toEqual(text.header);
    for (const [column, type] of Object.entries(types))
      expect([column, type]).toEqual([column, EXPECTED_TYPES(column)]);
    expect(binary.rows.map(asText)).toEqual(text.rows.map(asDoubles));
    for (const line of text.rows) kinds.add(`${line.ChargeCategory} ${line.ChargeClass} ${line.BillingCurrency}`);

    const statement = parseJson((await world.run('statement', period, '--json')).out);
    expect(sums(text.rows)).toEqual(
      Object.fromEntries(statement.totals.map((total: Total) => [total.currency, BigInt(total.amount_minor)])),
    );
  }
  expect([...kinds].sort()).toEqual([
    ...['Adjustment null EUR', 'Usage Correction EUR', 'Usage Correction JPY', 'Usage null EUR', 'Usage null JPY'],
  ]);
});

interface Total {
  currency: string;
  amount_minor: number | bigint;
}

/** Returns the total of the bill in minor units by currency. */
function sums(rows: readonly ReadRow[]): Record<string, bigint> {
  const found: Record<string, bigint> = {};
  for (const { BillingCurrency, BilledCost } of rows) {
    const currency = String(BillingCurrency);
    const digits = currency === 'JPY' ? String(BilledCost).replace(/\.0$/, '') : String(BilledCost).replace('.', '');
    found[currency] = (found[currency] ?? 0n) + BigInt(digits);
  }
  return found;
}

/** Normalizes rows of the Parquet and CSV files for comparison: decimals as doubles. */
function asText(line: ReadRow): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(line).map(([name, value]) => {
      if (value instanceof Date) return [name, value.toISOString().replace('.000Z', 'Z')];
      return [name, typeof value === 'bigint' ? String(value) : value];
    }),
  );
}

function asDoubles(line: ReadRow): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(line).map(([name, value]) => [
      name,
      value !== null && EXPECTED_TYPES(name) === 'DOUBLE' ? Number(value) : value,
    ]),
  );
}
