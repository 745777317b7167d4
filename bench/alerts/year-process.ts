import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_ALERT_RULES } from '../../src/config/schema/workspace-settings.ts';
import { playWorld } from '../../test/long/alert-year/play.ts';
import { readTold } from '../../test/long/alert-year/told.ts';
import { createWorld } from '../../test/long/alert-year/world.ts';
import { scoreYear } from './score.ts';

// One year of one seed in which nobody plans or silences anything: prints the scores as JSON.
const world = createWorld({ seed: Number(process.argv[2]), each: 6, from: '2025-10', to: '2027-01' });
const unmuted = { ...world, incidents: { ...world.incidents, plans: [], silences: [] } };
const folder = mkdtempSync(join(tmpdir(), 'bench-alerts-'));
try {
  const path = join(folder, 'ledger.db');
  const played = await playWorld(unmuted, path, { ...DEFAULT_ALERT_RULES, tenants: [] });
  process.stdout.write(JSON.stringify(scoreYear(unmuted, played, readTold(path))));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
