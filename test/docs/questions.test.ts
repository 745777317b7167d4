import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { setCards } from '../../src/ledger/journal/charges/charge-run.ts';
import { commitClose } from '../../src/ledger/journal/charges/commit-close.ts';
import { importNames } from '../../src/ledger/journal/charges/names.ts';
import { closePeriod } from '../../src/ledger/journal/close/close-period.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { renderTable } from '../../src/reports/formats/table.ts';
import { openLedger, publish, usageRecord } from '../support/open-ledger.ts';

const DOCUMENT = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs', 'questions.md');
/** A question, its SQL, and its answer as a table. */
const QUESTION = /^### (.+)\n\n```sql\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/gm;

/** The tenants of the demo, with what they used in the first months of 2025; harbor has fallen silent, fjord is new. */
const CREDITS: Readonly<Record<string, readonly (number | null)[]>> = {
  'blue-harbor': [41_000, 42_230, 43_460, 133_460],
  'cedar-analytics': [18_500, 19_055, 19_610, 12_000],
  'delta-foods': [7_250, 7_467, 7_685, 7_900],
  'ember-labs': [63_900, 65_817, 67_734, 69_651],
  'fjord-media': [null, null, 900, 2_400],
  'old-harbor': [5_000, 1_200, null, null],
  'tokyo-data': [null, null, null, 7_500],
};
const CARDS = [
  {
    ...{ name: 'standard', from_period: '2025-01', currency: 'EUR', included_credits: 1000, discount_percent: '10' },
    graduated: [{ up_to: 20_000, price_per_credit: '0.0125' }, { price_per_credit: '0.01' }],
    minimum: '50.00',
  },
  { name: 'ember', from_period: '2025-01', tenant: 'ember-labs', currency: 'USD', price_per_credit: '0.009' },
  { name: 'yen', from_period: '2025-01', tenant: 'tokyo-data', currency: 'JPY', price_per_credit: '1' },
];

function records(months: number, change: Readonly<Record<string, number>> = {}) {
  return Object.entries(CREDITS).flatMap(([tenant, credits]) =>
    credits.slice(0, months).flatMap((value, at) => {
      const period = `2025-0${at + 1}`;
      const now = change[`${period} ${tenant}`] ?? value;
      return now === null ? [] : [{ ...usageRecord(tenant, now, period), requests: Math.ceil(now / 25) }];
    }),
  );
}

async function buildLedger(): Promise<LedgerDb> {
  const { connection } = openLedger();
  const at = (time: string) => ({ workspaceId: 'ws-demo', nowMs: Date.parse(time) });
  setCards(connection, { cards: CARDS, source: 'import', nowMs: Date.parse('2025-01-01T00:00:00Z') });
  await publish(connection, records(1), at('2025-02-02T06:00:00Z'));
  const names = [
    { tenantId: 'blue-harbor', displayName: 'Blue Harbor Ltd', externalRef: 'C-1001', labels: { region: 'north' } },
    { tenantId: 'ember-labs', displayName: 'Ember Labs', externalRef: 'C-1004', labels: { region: 'south' } },
  ];
  importNames(connection, { names, dryRun: false, ...at('2025-02-02T07:00:00Z') });
  await publish(connection, records(2), at('2025-03-02T06:00:00Z'));
  const close = (period: string, time: string) =>
    closePeriod(
      connection,
      { period, by: 'Ada', note: `invoices of ${period}`, force: true, settleHours: 48, ...at(time) },
      commitClose,
    );
  close('2025-01', '2025-03-03T09:00:00Z');
  // What the service says of January after its close is a correction, booked in a later month.
  const corrected = { '2025-01 cedar-analytics': 18_900 };
  await publish(connection, records(3, corrected), at('2025-04-02T06:00:00Z'));
  close('2025-02', '2025-04-03T09:00:00Z');
  const days: [string, number][] = [
    ['2025-04-10', 14_000],
    ['2025-04-20', 28_000],
    ['2025-04-28', 133_460],
  ];
  for (const [day, used] of days) {
    await publish(connection, records(4, { ...corrected, '2025-04 blue-harbor': used }), at(`${day}T06:00:00Z`));
  }
  return connection;
}

/** So many rows are shown. */
const SHOWN = 2;

function answer(connection: LedgerDb, sql: string): string {
  const statement = connection.prepare(sql).safeIntegers();
  const rows = statement.all() as Record<string, unknown>[];
  const names = statement.columns().map(({ name }) => name);
  const table = renderTable(
    rows.slice(0, SHOWN),
    names.map((name) => ({ name, header: name })),
  );
  return `${table}\n${rows.length > SHOWN ? '...\n' : ''}`;
}

test('each question of the document is answered by its SQL as it says, on the data of the demo', async () => {
  const connection = await buildLedger();
  const text = readFileSync(DOCUMENT, 'utf8');
  const questions = [...text.matchAll(QUESTION)];
  expect(questions.length).toBeGreaterThanOrEqual(17);
  // COOKBOOK=write puts the answers into the document anew: look at what changes.
  if (process.env.COOKBOOK === 'write') {
    const written = text.replace(QUESTION, (block, _question, sql: string, old: string) =>
      block.replace(`\`\`\`text\n${old}\`\`\``, () => `\`\`\`text\n${answer(connection, sql)}\`\`\``),
    );
    writeFileSync(DOCUMENT, written);
  }
  for (const [, question, sql = '', expected] of readFileSync(DOCUMENT, 'utf8').matchAll(QUESTION)) {
    expect(`${question}\n${answer(connection, sql)}`).toBe(`${question}\n${expected}`);
    expect(connection.prepare(sql).readonly, question).toBe(true);
  }
});
