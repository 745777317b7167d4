import { expect, onTestFinished, test } from 'vitest';
import { Publisher } from '../../../src/publish/publisher.ts';
import { startPostgres } from '../../support/postgres.ts';
import { NOON } from '../../support/time/test-clock.ts';
import { expectAllThere, play, poll } from './campaign-world.ts';
import { smallDisk } from './small-disk.ts';

/** What fits into the room that tables and the log of changes have left is soon used up. */
const MOST_TRIES = 40;

test('a Postgres whose disk is full takes nothing by halves, and what has waited follows once there is room', async () => {
  const disk = smallDisk();
  const server = await startPostgres({ folderParent: disk.folder, options: ['-c', 'max_wal_size=64MB'] });
  onTestFinished(() => server.remove());
  const world = play();
  await world.run();
  await expectAllThere(server, world, 'full');
  const reader = poll(server, 'full');
  const publisher = new Publisher(server.settings('full'), world.path);
  onTestFinished(() => publisher.close());
  disk.fill(server);
  const refusals: Error[] = [];
  for (let round = 0; round < MOST_TRIES && refusals.length < 3; round += 1) {
    await world.run();
    const outcome = await publisher.publish({ nowMs: NOON }).catch((error: unknown) => error);
    if (!(outcome instanceof Error)) continue;
    expect(outcome, outcome.message).toMatchObject({ retryable: true });
    refusals.push(outcome);
  }
  expect(refusals).toHaveLength(3);
  expect(refusals.map(({ message }) => message).join('\n')).toMatch(disk.words);
  disk.free();
  await server.start();
  expect(await reader.stop()).toBeGreaterThan(0);
  await expectAllThere(server, world, 'full');
}, 120_000);
