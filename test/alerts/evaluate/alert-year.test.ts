import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measure } from '../../long/alert-year/measure.ts';
import { holdAgainstDocumentation } from '../../long/alert-year/oracle/oracle.ts';
import { playWorld, YEAR_ORACLE } from '../../long/alert-year/play.ts';
import { readTold } from '../../long/alert-year/told.ts';
import { createWorld } from '../../long/alert-year/world.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('six months of uneven tenants: what is documented and planted is told and nothing else, most paces come true', {
  timeout: 240_000,
}, async () => {
  const world = createWorld({ seed: 7, each: 2, from: '2025-10', to: '2026-06' });
  const path = join(temporaryFolder(), 'ledger.db');
  const { elapsedMs, readings } = await playWorld(world, path);
  const told = readTold(path);
  const measured = measure(world, told, { seed: 7, seconds: elapsedMs / 1000 });
  const oracle = holdAgainstDocumentation(world, told, readings, YEAR_ORACLE);

  expect(measured.planted.hits).toBeGreaterThanOrEqual(measured.planted.of - 1);
  expect(measured.pace.hits * 4).toBeGreaterThanOrEqual(measured.pace.of * 3);
  expect(measured.duplicateIds).toBe(0);
  expect({ missed: oracle.missed, undocumented: oracle.undocumented }).toEqual({ missed: [], undocumented: [] });
  expect(Object.keys(oracle.documented).length).toBeGreaterThanOrEqual(10);
});
