import { expect, test } from 'vitest';
import { expectPublishedOnce, RECORDS, startPlace } from './sync-process.ts';

test('a process killed while it walks is taken over at once, without waiting for its lease', async () => {
  const place = await startPlace();
  const held = place.holdNext({ page: 2 });
  const killed = place.sync();
  await held.reachedBy(killed);
  killed.child.kill('SIGKILL');
  expect(await killed.ended).toMatchObject({ code: 'SIGKILL' });
  held.release();

  expect(await place.sync().ended).toMatchObject({ code: 0, workspace: { status: 'applied', entries: RECORDS } });
  expectPublishedOnce(place, place.view());
});
