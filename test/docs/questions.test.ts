import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import { renderTable } from '../../src/reports/formats/table.ts';
import { buildDemoLedger } from './question-ledgers.ts';

const DOCUMENT = join(fileURLToPath(new URL('../..', import.meta.url)), 'docs', 'questions.md');
/** A question, its SQL, and its answer as a table. */
const QUESTION = /^### (.+)\n\n```sql\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/gm;

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
  const { connection } = await buildDemoLedger();
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
