import { join } from 'node:path';
import { expect, test } from 'vitest';
import { measure } from '../../long/alert-year/measure.ts';
import { playWorld } from '../../long/alert-year/play.ts';
import { readTold } from '../../long/alert-year/told.ts';
import { createWorld } from '../../long/alert-year/world.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('eight months of uneven tenants: what was planted is told, and most paces come true', {
  timeout: 240_000,
}, () => {
  const world = createWorld({ seed: 7, each: 2, from: '2025-10', to: '2026-08' });
  const path = join(temporaryFolder(), 'ledger.db');
  const { elapsedMs } = playWorld(world, path);
  const measured = measure(world, readTold(path), { seed: 7, seconds: elapsedMs / 1000 });

  expect(measured.planted.hits).toBeGreaterThanOrEqual(measured.planted.of - 1);
  expect(measured.pace.hits * 4).toBeGreaterThanOrEqual(measured.pace.of * 3);
  expect(measured.duplicateIds).toBe(0);
});
