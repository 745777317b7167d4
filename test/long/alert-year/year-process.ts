import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { measure } from './measure.ts';
import { holdAgainstDocumentation } from './oracle/oracle.ts';
import { playWorld, YEAR_ORACLE } from './play.ts';
import { readNotified } from './told.ts';
import { createWorld } from './world.ts';

/** One year of one seed, started as a process of its own: prints its measures as JSON. A folder, if given, keeps the ledger. */
const seed = Number(process.argv[2]);
const world = createWorld({ seed, each: 20, from: '2025-10', to: '2027-01' });
const kept = process.argv[3];
const folder = kept ?? mkdtempSync(join(tmpdir(), 'alert-year-'));
try {
  const path = join(folder, 'ledger.db');
  const { elapsedMs, readings } = await playWorld(world, path);
  const told = readNotified(path);
  const oracle = holdAgainstDocumentation(world, told, readings, YEAR_ORACLE);
  const measures = measure(world, told, { seed, seconds: elapsedMs / 1000 });
  process.stdout.write(JSON.stringify({ ...measures, oracle }, null, 1));
} finally {
  if (kept === undefined) rmSync(folder, { recursive: true, force: true });
}
