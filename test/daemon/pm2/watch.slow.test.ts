import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openReader } from '../../../src/ledger/store/file/open.ts';
import { checkPm2 } from '../../../src/operations/doctor/check-pm2.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { ECOSYSTEM, Pm2World } from './pm2-world.ts';

function appliedSlots(folder: string): number {
  const path = join(folder, 'data', 'ledger.db');
  if (!existsSync(path)) return 0;
  const reader = openReader(path);
  try {
    const runs = reader.connection
      .prepare("SELECT count(DISTINCT slot) FROM finance_runs WHERE status = 'applied'")
      .pluck();
    return runs.get() as number;
  } finally {
    reader.close();
  }
}

/** A daemon that syncs every minute under a pm2 that watches its folder. */
async function startWatched(changes: string): Promise<Pm2World> {
  const world = new Pm2World();
  onTestFinished(() => world.close());
  const sandbox = await startSandbox();
  onTestFinished(() => sandbox.close());
  daemonFolder(sandbox, { defaults: { cron: '* * * * *' } }, world.folder);
  const file = join(world.folder, 'ecosystem.config.cjs');
  writeFileSync(
    file,
    `const { apps } = require(${JSON.stringify(ECOSYSTEM)});
module.exports = { apps: apps.map((app) => ({ ...app, cwd: __dirname, watch: true, ${changes} })) };`,
  );
  await world.pm2('start', file);
  return world;
}

test('pm2 with watch does not restart the daemon while it syncs, and doctor warns', {
  timeout: 300_000,
}, async () => {
  const world = await startWatched('');
  await eventually(() => expect(appliedSlots(world.folder)).toBeGreaterThanOrEqual(2), 180_000);
  const { pm2_env: settings } = await world.listed();
  expect(settings).toMatchObject({ status: 'online', restart_time: 0 });
  const findings = await checkPm2(world.folder, { ...process.env, PM2_HOME: join(world.folder, 'pm2') });
  const warnings = findings.filter(({ message }) => message.includes('restarts the daemon whenever'));
  expect(warnings.map(({ status, message }) => [status, message.split(':')[0]])).toEqual([
    ['warn', 'watch is on'],
    ['warn', 'pm2 is watching the running daemon'],
  ]);
});

test('without the ignored paths pm2 keeps restarting it', { timeout: 300_000 }, async () => {
  const world = await startWatched('ignore_watch: undefined, wait_ready: false');
  await eventually(async () => expect((await world.listed()).pm2_env.restart_time).toBeGreaterThan(1), 120_000);
});
