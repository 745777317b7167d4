import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measure } from '../../long/alert-year/measure.ts';
import { holdAgainstDocumentation } from '../../long/alert-year/oracle/oracle.ts';
import { playWorld, YEAR_ORACLE } from '../../long/alert-year/play.ts';
import type { Word } from '../../long/alert-year/reader/checks.ts';
import { FALSE_WORDS } from '../../long/alert-year/reader/false-words.ts';
import { readYear } from '../../long/alert-year/reader/read-year.ts';
import { readNotified } from '../../long/alert-year/told.ts';
import { createWorld } from '../../long/alert-year/world.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('six months of uneven tenants: documented and planted causes are sent and no others, most forecasts come true, each sentence is true', {
  timeout: 240_000,
}, async () => {
  const world = createWorld({ seed: 7, each: 2, from: '2025-10', to: '2026-06' });
  const path = join(temporaryFolder(), 'ledger.db');
  const { elapsedMs, readings } = await playWorld(world, path);
  const told = readNotified(path);
  const measured = measure(world, told, { seed: 7, seconds: elapsedMs / 1000 });
  const oracle = holdAgainstDocumentation(world, told, readings, YEAR_ORACLE);

  expect(measured.planted.hits).toBeGreaterThanOrEqual(measured.planted.of - 1);
  expect(measured.pace.hits * 4).toBeGreaterThanOrEqual(measured.pace.of * 3);
  expect(measured.duplicateIds).toBe(0);
  expect({ missed: oracle.missed, undocumented: oracle.undocumented }).toEqual({ missed: [], undocumented: [] });
  expect(Object.keys(oracle.documented).length).toBeGreaterThanOrEqual(10);

  // What was told falsely once is put back into each message that has a place for it.
  const unnoticed: string[] = [];
  const putBack = new Set<string>();
  const reader = readYear(world, path, readings, (own, message) => {
    const notice = (what: string, words: string | null, complaintsOf: (words: string) => (string | null)[]) => {
      if (words === null) return;
      putBack.add(what);
      if (complaintsOf(words).every((complaint) => complaint === null)) unnoticed.push(`${what}: ${words}`);
    };
    const words = message.alerts?.flatMap((item) => item.notifications ?? [item]) ?? [message as Word];
    for (const word of words) {
      for (const [what, falsify] of Object.entries(FALSE_WORDS))
        notice(what, falsify(word), (summary) => own.complaintsOf({ ...word, summary }));
    }
  });
  expect(reader.wrong).toEqual([]);
  expect(reader.sentences).toBeGreaterThan(300);
  expect(unnoticed).toEqual([]);
  expect([...putBack].sort()).toEqual(Object.keys(FALSE_WORDS).sort());
});
