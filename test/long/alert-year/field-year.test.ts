import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { FIELD_YEAR, type FieldOrder } from './field/field-world.ts';
import { CAUSE_NAMES } from './field/shared-causes.ts';
import type { FieldResult } from './field-process.ts';
import { sumScorecards } from './score/scorecard.ts';
import { missedTargets, missedWithCause } from './score/targets.ts';

const run = promisify(execFile);

/** `FIELD_YEAR_SEEDS=101,102,103` plays other years. */
const seeds = (process.env.FIELD_YEAR_SEEDS ?? '1,2,3').split(',').map(Number);

test('years like the field meet each target, and each message about them is documented and true', {
  timeout: 7_200_000,
}, async () => {
  const years: FieldResult[] = [];
  for (const seed of seeds) years.push(await playField({ ...FIELD_YEAR, seed }));
  for (const year of years) expectTrueMessages(year);
  expect.soft(missedTargets(sumScorecards(years.map(({ scorecard }) => scorecard)))).toEqual([]);
});

/** Two judged months, July and August; every cause of the catalogue begins in one of them. */
const SHORT = { tenants: 120, from: '2026-04', days: 110 };
const JUDGED_DAYS = 62;

describe('a cause that tenants share does not notify about each of them', () => {
  test.each(CAUSE_NAMES)('%s', { timeout: 3_600_000 }, async (cause) => {
    const { tenants } = SHORT;
    const year = await playField({ ...SHORT, seed: seeds[0] ?? 1, causes: [cause] });
    expectTrueMessages(year);
    expect.soft(missedWithCause(year.scorecard, { tenants, days: JUDGED_DAYS })).toEqual([]);
  });
});

function expectTrueMessages({ documentation, sentences, falseSentences }: FieldResult): void {
  const { missed, undocumented } = documentation;
  expect.soft({ missed, undocumented, falseSentences }).toEqual({ missed: [], undocumented: [], falseSentences: [] });
  expect.soft(sentences).toBeGreaterThan(50);
}

async function playField(order: FieldOrder): Promise<FieldResult> {
  const script = join(import.meta.dirname, 'field-process.ts');
  const { stdout } = await run(process.execPath, [script, JSON.stringify(order)], { maxBuffer: 1e8 });
  return JSON.parse(stdout) as FieldResult;
}
