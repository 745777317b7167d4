import { expect, onTestFinished, test } from 'vitest';
import { configure, NOWHERE } from '../../support/daemon-folder.ts';
import { eventually } from '../../support/eventually.ts';
import { ECOSYSTEM, Pm2World } from './pm2-world.ts';

test('pm2 starts the daemon from the ecosystem file, waits until it is ready, and stops it with exit code 0', async () => {
  const world = new Pm2World();
  onTestFinished(() => world.close());
  configure(world.folder, { workspaces: [NOWHERE], http: { port: 0 } });

  await world.pm2('start', ECOSYSTEM);
  expect((await world.listed()).pm2_env.status).toBe('online');
  expect(world.logLines().some(({ msg }) => msg === 'ready')).toBe(true);

  await world.pm2('stop', 'usage-ledger');
  await eventually(() => expect(world.exitCodes()).toEqual([0]), 20_000);
});
